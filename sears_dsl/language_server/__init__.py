"""Checks and formats `.sear` files while they are written, in any editor that speaks LSP.

In: messages of an editor on standard input, which pygls reads. `server` answers each request with
the help of `assistance`, which asks the parser and the checker of `language` first and then the
compiler of `engine`; `names` finds the names of sets with the lexer; the printer formats. Out:
messages on standard output. The server reads only what a rule file imports and its sample, and
writes no file.
"""
