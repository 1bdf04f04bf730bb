"""Checks and formats `.sear` files while they are written, in any editor that speaks LSP.

What comes in: messages of an editor on standard input, which pygls reads; `protocol` adds that none
stays unanswered. `server` answers, by `assistance`, which asks first the parser and the checker of
`language` and then the compiler of `engine`; formatting is the printer's. What goes out: messages
on standard output. No file is read but what a rule file imports and its sample, and none is
written.
"""
