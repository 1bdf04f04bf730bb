"""The commands about a model: find its bugs, judge rules, measure, repair.

In: rules or rows and a model, by options that `options` declares once. `discover` and `adversaries`
find; `vet` and `vetted` let people judge; `audit`, `compare`, `errors` and `export` measure;
`augment` and `fix` repair; `score` and `calibrate` are about S alone. Each calls one function of
the library, which writes the files, and prints the result.
"""
