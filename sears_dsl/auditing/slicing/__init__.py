"""Parts of the rows: by label, length, question type, column, and by what is computed.

In: rows, and what a person names. `computed` says what a name in parentheses means, `parts` cuts
values into a few parts. Out: `slices`, the numbers of each part.
"""
