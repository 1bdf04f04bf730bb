"""From a model's failures to rules: rows, a model and paraphrases in, a few rules out.

`algorithm.discover` is the way: right rows (`effects`), known rules first (`known_rules`),
paraphrases (`paraphrasing`), candidate rules (`proposing`), those that keep the meaning
(`filtering`), the model asked (`effects.flips`), the few that cover most (`selection`),
the files that leave (`result`, `ruleset_text`). These stages go through one table, `candidates`:
each fills a column or takes rows out, and `counts` has how many. `orders` holds who takes part and
in which order stages come (meaning first, or the paper's); `settings` (with the budget of time) and
`parts` (what rewords and what scores) are what a person chose. `adversaries` are single rewrites
that flip; strategic ones have none of the words that matter. `cost` says beforehand what a search
will take. All of it runs offline.
"""
