"""Algorithm 1 of the paper and its relatives: two-point estimates in random directions, Frank–Wolfe steps."""
