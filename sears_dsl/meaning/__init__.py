"""S: how far a rewrite keeps the meaning of its original, and the score τ from which on it does.

A `Scorer` takes pairs of an original and a rewrite, and gives S or whether S is at least τ.
`scorers` loads one by name: the judge (in `judge`), `sentence_meaning`, `pivot_score` (the paper's)
or `sentence_encoder`. `calibration` fits τ to what people said (`judgements`).
"""
