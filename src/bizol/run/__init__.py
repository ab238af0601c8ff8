"""A run: the only loop, what it records, and what it returns."""
