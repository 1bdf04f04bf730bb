"""S: how far a rewrite keeps the meaning of its original, and from which score on it does.

In: pairs of an original and a rewrite. `scorers` says what a `Scorer` is and loads one by name: the
judge (in `judge`), `sentence_meaning`, `pivot_score` (the paper's), `sentence_encoder`. Out: S, and
whether it is at least τ; `calibration` fits τ to what people said (`judgements`).
"""
