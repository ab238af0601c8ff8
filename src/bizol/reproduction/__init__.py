"""The paper's Section V, reproduced.

`instances` draws the problems, `lockstep` runs both methods on them, `measures` looks at the runs,
`experiments` keeps what was seen, `results` reads it as the paper does, `tables`, `figures` and
`claims` show it, `reproduce` does it all.
"""
