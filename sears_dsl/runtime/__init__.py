"""The ground under everything: compiled kernels, processes, locks, files written whole.

Nothing here knows rules, texts or models. `kernels` compiles loops over arrays once there is enough
work, and `compiler` beside it; `processes` asks plain child processes questions; a journal in
`database` keeps on disk what a run has found out; `files` reads, writes and locks files, `folders`
has those in object stores.
"""
