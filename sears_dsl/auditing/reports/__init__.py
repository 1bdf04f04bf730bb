"""An audit or a comparison as a page, as Markdown, as JUnit.

In: the document of an audit. `page` (with `sheet`) makes HTML for a browser, `markdown` text for a
pull request (with `runtime.markdown_tables`). `several_audits` makes both, and `answer_parts` and
`robustness_parts` make sections of both. `files` writes them, and JUnit for CI.
"""
