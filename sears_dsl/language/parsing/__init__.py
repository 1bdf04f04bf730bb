"""Lines of rule text → nodes of the syntax tree, or what is wrong with them.

In: the lines of a file. `parser` tells whether they are rules at all, feeds each to the grammar and
gives statements their metadata. `builder` turns parse trees into nodes. If the grammar refuses a
line, `syntax_errors` says what went wrong. Out: the statements of a file for `language.loader`.
"""
