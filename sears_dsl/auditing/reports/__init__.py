"""An audit or a comparison as a page, as Markdown, as JUnit.

In: the document of an audit. `page` (with `sheet`) and `comparison_page` are for a browser,
`markdown` (with `markdown_tables`) for a pull request; `files` writes them, and JUnit for CI.
"""
