"""How black-box solvers do on bilevel problems, each query counted: cases, solvers, runs and profiles."""
