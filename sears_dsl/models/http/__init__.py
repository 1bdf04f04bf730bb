"""Models behind HTTP: endpoints with labels in JSON, and language models that are prompted.

Both post through `posting`, the only place that sends anything: to the one address that was named,
again where a failure may pass. `endpoint` asks one that gives labels, by maps from rows to
JSON and back; `language_model` asks one that writes text, by its `PromptSettings`.
"""
