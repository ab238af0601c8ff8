"""Measurements of the library: what it costs, how well it certifies, and how it does among its peers."""
