"""Models under test, seen from outside: rows in, one label or answer a row out.

In: what a person writes for a model. `loading` makes a `predictor.Predictor` of it: `function`,
`scikit`, `huggingface`, an endpoint or a language model (`http`), `prediction_file`, or several in
a `vote`; `objects` finds what is named ``module:object``. What they give is checked in `predictor`;
a reader says by `certainty` how sure it is. `cached` asks each distinct row once and keeps answers,
also on disk. Out: answers, for `effects`.
"""
