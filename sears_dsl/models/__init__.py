"""Models under test, seen from outside: rows in, one label or answer a row out."""
