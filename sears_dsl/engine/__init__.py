"""The engine: compiled rules over tagged text, and the naive reference that defines it.

In: rulesets, then rows. `matcher` is the public face. It compiles rules once (`compile`): tests
become numbers, rules become flat variants, and variants become a trie. For each batch it skips the
rows that no rule can match, tags the others, runs the program over their tokens (`match`) and turns
the matches into edits (`rewrite`, with draws from `noise`). A few texts take a shorter path
(`few_matches`). Out: `Rewrites`, with each rule applied by itself. `chain` applies rule after rule,
and `sentence_units` applies rules to the sentences of rows. The stages share `matches` and the
array layouts in `arrays`. `reference` defines the same matches in the plainest code, without the
compiled stages; `explain` asks it why a rule did not fire; `warming` compiles all kernels ahead.
"""
