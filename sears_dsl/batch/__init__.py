"""Rules over whole datasets: batches, processes, and outputs that survive being killed.

In: rulesets and a file, or data in memory. `plan` says what rules may do to a row, and counts;
`mode_each` and `mode_chain` do it, pure functions of a batch; `guarding` proves that what had to
stay stayed. `files` checks what is asked, runs batches through `workers`, where recipes make
matchers, and lays finished ones beside the output (`partial`); `memory` does it for frames. Out:
the rewritten dataset and the counts. `provenance` tells with which tagger rules were validated.
"""
