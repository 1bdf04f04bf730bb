"""Noise: what is drawn, and what slips and look-alikes do to characters, as pure functions.

In: a seed, the text of a unit, the place of an instance in it. Out: numbers (`draws`), changed
words (`characters`, with the table of look-alikes), both for whole batches by `kernels`, and the
words and sentences that `sources` look up (neighbours in `vectors`, paraphrases). Always holds:
nothing but seed, draw, name, unit, place and number of a decision enters it, so equal texts get
equal noise in any order, batch or process.
"""
