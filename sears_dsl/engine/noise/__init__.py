"""Noise: what is drawn, and what slips and look-alikes do to characters, as pure functions.

In: a seed, the text of a unit, the place of an instance in it. Out: random numbers (`draws`), words
with changed characters (`characters`, with the table of look-alikes), and words and sentences that
`sources` look up (neighbours in `vectors`, paraphrases). `instances` and its `kernels` compute the
first two for all instances of a rule in a batch. Always holds: a decision depends only on its seed,
draw, name, unit, place and number, so equal texts get equal noise in any order, batch or process.
"""
