"""Discovery: paraphrases, adversaries, and from these rules in the rule language.

Sentences go in, a vetted-by-number ruleset comes out: translation models (`nmt`, `pivots`) say how
likely one sentence is as the paraphrase of another (`meaning`), search proposes paraphrases,
those that flip the model under test become candidate rules, and of these the few that flip most
without changing the meaning are kept. Everything runs offline with models that packages carry.
"""
