"""The rule language: syntax tree, parser, printer, checker, rulesets and their differences.

In: the text of a `.sear` file. `loader` reads it and the files that it imports. `parsing` tells
whether a file holds rules at all, and turns each line into a node of the tree (`rule`); `words`
says which words may stand bare. `check` finds errors in a rule, with counts from `measure` and tags
from `tagsets`; `check_drawn` checks what is drawn or generated. `notations` runs when somebody asks
for warnings. Out: a `ruleset.Ruleset`, which resolves names of sets (`references` follows them),
prints itself (`printer`, which also makes the ids) and is saved where its file of vectors is
found; `diff` compares it with another version. What rules do to text is the business of `engine`.
"""
