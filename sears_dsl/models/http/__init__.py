"""Models behind HTTP: endpoints with labels in JSON, and language models that are prompted.

Both post through `posting`, the only place that sends anything: to the one address that was named,
again where a failure may pass. `endpoint` asks one that gives labels, by the maps of
`endpoint_mapping`; `language_model` asks one that writes text, by the settings of `prompts`.
"""
