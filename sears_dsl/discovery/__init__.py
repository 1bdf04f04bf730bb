"""From a model's failures to rules: rows, a model and paraphrases in, a few rules out.

`algorithm.discover` runs the stages. It takes the right rows (`effects`), tries known rules first
(`known_rules`), has the rows paraphrased (`paraphrasing`), proposes candidates (`proposing`), drops
those that change the meaning (`filtering`), asks the model (`effects.flips`), selects the few rules
that cover most (`selection`), says what came closest to these (`closest`) and writes the files
(`result`, `ruleset_text`). These stages share one table, `candidates`: each fills a column or takes
rows out, and `counts` says how many are left.
`articles` tells which rules mend *a* and *an*, `names` makes ids that a file can hold.
`orders` has the two orders of the stages (meaning first, or the paper's). `settings` (with the time
budget) and `parts` (what rewords, what scores) are the user's choices. `adversaries` are single
rewrites that flip; strategic ones avoid the words that matter. `cost` estimates a search
beforehand. All of it runs offline.
"""
