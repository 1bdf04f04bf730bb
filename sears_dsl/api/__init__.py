"""The package's main functions in Python, with the same code and defaults as the commands.

    model, data ──▶ `discover` ──▶ rules ──▶ `vet` ──▶ accepted rules ──▶ `audit`, `compare`
                                                    └─▶ `augment`, `fix`
    pairs ──▶ `score`     sentences ──▶ `paraphrase`     data, rules ──▶ `apply`

Each module holds related functions and their results: `applying`, `auditing`, `comparing`,
`discovering`, `generating`, `repairing`, `scoring`, `vetting`. `arguments` converts what users have
(functions, estimators, pipelines; frames, lists, files) into what the packages below work with, and
rewords errors of the command line for Python. `results` is what the results share: a data frame, a
table for notebooks, a plot.
"""
