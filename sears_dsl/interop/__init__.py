"""Rules inside of other people's tools: test suites, attacks, pipelines, datasets, trackers.

`checklist`, `textattack`, `hugging_face` and `mlflow_logging` import the foreign package in the
function that needs it; without it an error says what to install. `pytest_plugin` and
`spacy_component` are loaded by the tool itself.
"""
