"""Lines of rule text → nodes of the syntax tree, or what is wrong with them.

In: lines. `parser` feeds each to the grammar; `builder` (with `consequent` and `leaves`) makes
nodes of parse trees, `metadata` reads the indented lines; where the grammar refuses a line,
`mistakes` says what went wrong, with `borrowed` for the notation of other tools. Out: the
statements of a file for `language.loader`.
"""
