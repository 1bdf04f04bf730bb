"""Lines of rule text → nodes of the syntax tree, or what is wrong with them.

In: the lines of a file that `content` takes for rules. `parser` feeds each to the grammar;
`builder` (with `consequent` and `leaves`) makes nodes of parse trees, `slots` reads the text of
templates, `metadata` the indented lines; where the grammar refuses a line, `mistakes` says what
went wrong, with `borrowed` for the notation of other tools. Out: the statements of a file for
`language.loader`.
"""
