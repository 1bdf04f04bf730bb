"""The command line: ``sears check | fmt | test | apply | explain | diff | rules | cache``.

One function a command; each parses its arguments, calls the library, prints. Heavy modules are
imported inside the functions, so that ``sears --help`` answers at once. Exit codes: 0 all is well,
1 a gate failed (a rule's test, a format check, a warning under ``--strict``), 2 wrong use or bad
input.
"""

from sears_dsl.cli.main import main

__all__ = ["main"]
