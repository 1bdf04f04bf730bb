"""What predicts that a model fails: answers of audits, what is known of each, and trees that learn.

In: audits of the same rows, and the rows. `prediction` lays out one instance an answer with its
features and tells right from wrong answers by them in folds. Out: `document`, one JSON file that
`reports.errors_page` shows.
"""
