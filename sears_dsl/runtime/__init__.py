"""What everything else stands on: compiled kernels, processes, locks, files written whole.

Nothing here knows rules, texts or models. `kernels` compiles loops over arrays (`array_types`) once
there is enough work, in a `Compiler` of `processes`, which runs child processes that answer
questions. `interrupts` holds signals back until a block ends. `extras` checks for packages before
they are needed. The journal in `database` keeps the results of a run on disk. `files` reads, writes
and locks files; `folders` reaches those in object stores. `markdown_tables` writes tables in which
any text stays text.
"""
