"""An audit or a comparison as a page, as Markdown, as JUnit.

In: the document of an audit. `page` (with `charts`, `sheet`) and `comparison_page`
are for a browser, `markdown` (with `markdown_tables`) for a pull request, `junit` for a CI server.
"""
