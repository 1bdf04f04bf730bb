"""The ground under everything: compiled kernels, processes, locks, files written whole.

Nothing here knows rules, texts or models. `kernels` compiles loops over arrays (`array_types`) once
there is enough work, in a `Compiler` of `processes`, which asks plain child processes questions,
too; `interrupts` wait for the end of a block; `extras` asks for packages before they are needed; a
journal in `database` keeps on disk what a run has found out; `files` reads, writes and locks files,
`folders` has those in object stores.
"""
