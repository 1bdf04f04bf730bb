"""Sentences → paraphrases, by translating there and back or by a source of your own.

In: sentences. `paraphraser` searches the decoders of `translation`, holds them to the sentence by
a `Guide`, and the result comes in the sentence's own spacing. `team` does so on all cores, scores
too, and `remembered` keeps both for an interrupted run; `plugins` takes parts of your own,
`prompted` are language models as such parts. Out: paraphrases for `discovery`, and by `rewording`
for rules that write paraphrases.
"""
