"""An audit or a comparison as a page, as Markdown, as JUnit."""
