"""The project file: defaults for the options of commands.

`file` finds ``sears.toml``, or [tool.sears] in ``pyproject.toml``. `fields` says what may stand in
it. `choices` derives the options of a command from it, each with its key. `members` takes apart
what names several models. `consent` remembers what the user allowed to run. `proposal` writes a
first file for ``sears init``. `sears_dsl.cli` takes from here the options that the command line
does not give.
"""
