"""The rule language: syntax tree, parser, printer, checker, rulesets and their differences.

In: the text of a `.sear` file. `loader` reads it with what it imports: `parsing` tells whether it
holds rules at all and makes of each line a node of the tree (`rule`), `check` and
`notations` say what is wrong with it or meant otherwise, `check_file` what is never used. Out: a
`ruleset.Ruleset`, which resolves names of sets, prints itself (`printer`) and compares with another
version (`diff`). What rules do to text is the business of `engine`.
"""
