"""An audit or a comparison as a page, as Markdown, as JUnit.

In: the document of an audit. `page` (with `sheet`) is for a browser, `markdown` (with
`markdown_tables`) for a pull request, `several_audits` for both; `answer_parts` and
`robustness_parts` are in both. `files` writes them, and JUnit for CI.
"""
