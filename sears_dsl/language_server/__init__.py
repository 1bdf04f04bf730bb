"""Checks and formats `.sear` files while they are written, in any editor that speaks LSP.

What comes in: messages of an editor on standard input, which pygls reads; `protocol` adds that none
stays unanswered. `server` answers: diagnostics on each change and what to do about a line, by
`findings`, which asks first the parser and the checker of `language` and then the compiler of
`engine`; formatting by the printer; what a place means and what may follow there by `assistance`;
another name for a set by `renaming`; what a rule does to the text beside its file by `sample`. What
goes out: messages on standard output. No file is read but what a rule file imports and its sample,
and none is written.
"""
