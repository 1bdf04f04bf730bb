"""The project file: what commands take where nobody tells them.

`file` finds ``sears.toml``, or [tool.sears] of ``pyproject.toml``; `fields` says what may stand in
it; `choices` makes of it the options of a command, each with its key; `consent` keeps what the user
said may run; `proposal` is a first one, for ``sears init``. `sears_dsl.cli` puts the options in the
place of those that were not given.
"""
