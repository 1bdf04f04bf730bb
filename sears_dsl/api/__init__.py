"""What the package is for, as functions: the same code and defaults as the commands, in Python.

    model, data ──▶ `discover` ──▶ rules ──▶ `vet` ──▶ accepted rules ──▶ `audit`, `compare`
                                                    └─▶ `augment`, `fix`
    pairs ──▶ `score`     sentences ──▶ `paraphrase`     data, rules ──▶ `apply`

A function is in the module of what it does, with its result: `applying`, `auditing`, `comparing`,
`discovering`, `generating`, `repairing`, `scoring`, `vetting`. `arguments` turns what a person has
(functions, estimators, pipelines; frames, lists, files) into what the packages below work with, and
words of the command line in errors into Python; `results` is what the results share: a frame, a
table for notebooks, a plot.
"""
