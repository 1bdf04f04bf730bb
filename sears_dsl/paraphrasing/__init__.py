"""Sentences → paraphrases, by translating there and back or by a source of your own.

`paraphraser` searches the decoders of `translation` under a `Guide`, which keeps the output close
to the sentence; `restoring` gives the result the sentence's own spacing and characters. `team` runs
this search and the scorer in several processes; `memory` keeps the results of both for an
interrupted run. `plugins` takes paraphrasers and scorers of the user's own, `prompted` language
models as such. `discovery` uses the paraphrases; `for_rules` gives them to rules that write
paraphrases.
"""
