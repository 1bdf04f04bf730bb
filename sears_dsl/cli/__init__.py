"""The command line: turns a user's words into one call of the library, and shows the result.

In: the arguments of the process. `main` sets the signal handlers and calls `commands`, which lists
all commands in the order in which a user meets them. A command is a module of its name: in `rules`
if it is about rules alone, in `model` if it is about a model, else here (`apply`, `cache`, `init`,
`pivots`, `trust`, `warm_up`). Its options come from `options`. Heavy modules are imported inside
its function, so that ``sears --help`` answers at once. A command calls the library, which writes
files, and shows its results through `screen`.

Out: text, or JSON under ``--json``, and an exit code: 0 if all is well, 1 if a gate failed (a
rule's test, a format check, a warning under ``--strict``), 2 for wrong use or bad input, with the
error as `commands` shows it.
"""

from sears_dsl.cli.main import main

__all__ = ["main"]
