"""Rules over whole datasets: batches, processes, and outputs that survive being killed.

In: rulesets and a file, or data in memory. Out: the rewritten dataset and the counts. `plan` says
what rules may do to a row, and counts; `mode_each` and `mode_chain` do it, as pure functions of a
batch; `guarding` checks that what had to stay stayed. `files` checks the request, runs batches
through `workers` (where recipes make matchers), and keeps finished ones beside the output
(`partial`); `in_memory` works in memory. `provenance` says which taggers rules were validated with.
"""
