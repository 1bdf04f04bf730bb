"""Instances of rules → edits, and rows with these edits made.

In: matches of a batch. `renderer` says what one instance becomes: pieces of the consequent
(`pieces`), and `placing` how these fit into the row, with the white space there (`spacing`). For
few matches that is all, and `unit_rendering` chooses among the instances of a unit; for many
`batch_rendering` does so once for all matches that look alike (`templates`, `windows`), plain rules
(`plain_rules`) by filling in slots (`slots`), and `batch_noise` what draws. Out: arrays of edits
that are read as `rewrites.Rewrites`, and shown to people as the words that changed.
"""
