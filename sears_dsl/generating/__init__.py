"""Templates → labelled sentences.

In: rulesets with templates. `members` says what stands in slots, `sentences` has those of one
template, each computed from its number, and tells what is wrong with them; `drawing` says which are
written and in which order, under a limit or without. Out: `table`, columns of text, label, template
and slots, which `data` writes in any format.
"""
