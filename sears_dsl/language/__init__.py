"""The rule language: syntax tree, parser, printer, checker, rulesets and their differences.

In: the text of a `.sear` file. `loader` reads it with what it imports: `parsing` tells whether it
holds rules at all and makes of each line a node of the tree (`rule`; `words` says what may stand
bare), and `check`, which counts by `measure` and has tags from `tagsets`, says what is wrong with a
rule. `check_drawn` is entered where something is drawn or generated, `notations` where somebody
asks for warnings. Out: a `ruleset.Ruleset`, which resolves names of sets, prints itself (`printer`,
which makes the ids, too) and compares with another version (`diff`). What rules do to text is the
business of `engine`.
"""
