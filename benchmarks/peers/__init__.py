"""Black-box solvers on bilevel problems, each query counted: cases, solvers, runs, profiles."""
