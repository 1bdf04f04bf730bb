"""Templates → labelled sentences.

In: rulesets with templates. `sentences` computes the sentences of one template from their numbers,
out of the `parts` of its text, and reports what is wrong with them. Out: `table` selects sentences,
with a limit or without, and returns columns of text, label, template and slots, which `data` writes
in any format.
"""
