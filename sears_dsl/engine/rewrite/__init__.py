"""Instances of rules → edits, and rows with these edits made."""
