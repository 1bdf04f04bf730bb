"""Models behind HTTP: endpoints with labels in JSON, and language models that are prompted.

Both post through `posting`, the only place that sends anything: to the one address that was named,
again where a failure may pass. `endpoint` asks for labels, with maps from rows to JSON and back.
`language_model` prompts a model that writes text, by its `PromptSettings`.
"""
