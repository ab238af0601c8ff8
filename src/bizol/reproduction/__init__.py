"""The paper's experiments: instances and, for now, a short demonstration."""
