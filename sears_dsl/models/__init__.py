"""Models under test, seen from outside: rows in, one label or answer a row out.

From what a person writes for a model, `loading` makes a `predictor.Predictor`: a `function`, an
estimator (`scikit`), a model of `huggingface`, an endpoint or a language model (`http`), a
`prediction_file`, or several of these in a `vote`. `objects` finds what is named ``module:object``.
`predictor` checks what models give, and `certainty` says how sure a reading model is. `cached` asks
about each distinct row once, and keeps the answers for `effects`, also on disk.
"""
