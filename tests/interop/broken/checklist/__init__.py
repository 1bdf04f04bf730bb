"""A package that raises while it is imported, as CheckList does under a new IPython."""

raise RuntimeError("This module must be run in IPython.")
