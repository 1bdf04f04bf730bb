"""What a search found: rules with their numbers, and the files that it writes.

`found_rules` counts what the selected rules do, on held-out rows too, and names them and those that
nearly passed. `report` writes both as rule files, their `manifest` and a report to read.
"""
