"""Candidate rules → those that keep the meaning, narrowed where that helps.

In: candidates. `text_filter` judges each on much text, where it acts, before the model is asked;
`narrowing` finds the condition under which it reads well. The paper's way judges on the rows, with
as few questions as can be (`paper_filter`). Out: rules to ask the model about.
"""
