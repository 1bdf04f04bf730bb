"""What a search found: rules with their numbers, and the files that it writes.

`found_rules` counts what the selected rules do, on held-out rows too, and names them. `report`
writes the ruleset, its `manifest` and a report to read.
"""
