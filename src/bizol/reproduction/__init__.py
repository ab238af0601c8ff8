"""The paper's Section V, reproduced.

`paper` holds the parameters and `printed` the results that the paper prints. `instances` draws the
problems, `lockstep` runs both methods on them, `measures` computes what is shown, `experiments`
keeps it on disk under a key to which `sources` contributes the code, and `results` reads it back.
`tables`, `figures` and `claims` present it, `page` puts them on one page, `record` compares with
earlier reproductions, and `reproduce` runs everything.
"""
