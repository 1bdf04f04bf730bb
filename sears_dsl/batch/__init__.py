"""Rules over whole datasets: batches, processes, and outputs that survive being killed.

In: rulesets and a file, or data in memory. `requests` makes matchers and checks what is asked,
`plan` says what rules may do to a row, and counts; `mode_each` and `mode_chain` do it, pure
functions of a batch. `files` runs batches through `workers` and lays finished ones beside the
output (`partial`); `memory` does it for frames. Out: the rewritten dataset and the counts.
`provenance` tells with which tagger rules were validated.
"""
