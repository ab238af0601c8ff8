"""Measurements of the library: what it costs, how well it certifies, how it compares to peers."""
