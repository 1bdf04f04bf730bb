"""Instances of rules → edits, and rows with these edits made.

`renderer` turns one instance into an edit: `pieces` writes the parts of the consequent, and
`placing` fits them into the row, with the white space there (`spacing`). For few matches that is
all. For many, `batch_rendering` works once for all matches that look alike (`templates`,
`windows`), and plain rules fill in slots (`plain_rules`). `drawing_rules` chooses among the
instances of rules that draw. `tag_dependence` says which rules need tagged rows for what they
write. The result is arrays of edits, which callers read as `rewrites.Rewrites` and people see as
the words that changed.
"""
