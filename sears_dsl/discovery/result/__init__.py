"""What a search found: rules with their numbers, and the files that leave.

In: selected rules. `found_rules` counts, on rows held out too, and gives names. Out: the ruleset,
its `manifest` and a report to read (`report`).
"""
