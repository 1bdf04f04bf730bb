"""Candidate rules → those that keep the meaning, narrowed where that helps.

`text_filter` judges each candidate where it acts in much text, before the model is asked, and
`narrowing` finds the condition under which it reads well. `paper_filter` judges candidates on the
rows, as the paper does, with as few questions as possible.
"""
