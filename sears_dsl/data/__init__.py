"""Rows: files and data in memory ⇄ batches of columns."""
