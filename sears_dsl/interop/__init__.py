"""Rules inside other tools: test suites, attacks, pipelines, datasets, trackers.

`checklist`, `textattack`, `hugging_face` and `mlflow_logging` import the foreign package only in
the function that needs it; if it is missing, the error says what to install. The tools themselves
load `pytest_plugin` and `spacy_component`.
"""
