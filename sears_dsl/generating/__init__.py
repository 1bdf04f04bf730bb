"""Templates → labelled sentences.

In: rulesets with templates. `sentences` has those of one template, each computed from its number,
and tells what is wrong with them. Out: `table`, columns of text, label, template and slots, of
those that are written under a limit or without, which `data` writes in any format.
"""
