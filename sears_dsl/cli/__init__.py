"""The command line: from the words of a person to one function of the library, and back.

What comes in: the arguments of the process. `main` sets what signals do and calls `commands`, which
names every command in the order in which a person meets them; a command is a file of its name,
about rules alone in `rules`, about a model in `model`, all others here (`apply`, `cache`, `init`,
`pivots`, `trust`, `warm_up`). Its options come from
`options`; heavy modules are imported inside of the function, so that ``sears --help`` answers at
once. It calls the library, which writes files; what it shows goes through `screen`.

What goes out: text, or JSON under ``--json``, and an exit code: 0 all is well, 1 a gate failed (a
rule's test, a format check, a warning under ``--strict``), 2 wrong use or bad input, with the error
as `commands` shows it.
"""

from sears_dsl.cli.main import main

__all__ = ["main"]
