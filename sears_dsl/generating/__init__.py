"""Templates → labelled sentences.

In: rulesets with templates. `sentences` has those of one template, each computed from its number;
`drawing` says which are written and in which order, under a limit or without. Out: `table`, columns
of text, label, template and slots, which `data` writes in any format.
"""
