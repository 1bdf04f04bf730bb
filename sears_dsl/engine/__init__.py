"""The engine: compiled rules over tagged text, and the naive reference that defines it.

In: rulesets, then rows. `matcher` is its face. It compiles rules once (`compile`): tests become
numbers, rules flat variants, variants a trie. Of each batch it leaves out rows that no rule can
match, tags the others, runs the program over their tokens (`match`) and makes edits of what was
matched (`rewrite`; what is drawn by `noise`); a few texts take a shorter way (`few_matches`). Out:
`Rewrites`, each rule by itself; `chain` applies rule after rule, `sentence_units` cuts rows into
sentences before and joins them after. The stages share `matches` and the layout of arrays in
`arrays`. `reference` says the same in the plainest code and imports none of it; `explain` asks it
why a rule did not fire; `warming` compiles all kernels ahead.
"""
