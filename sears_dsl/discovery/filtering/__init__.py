"""Candidate rules → those that keep the meaning, narrowed where that helps."""
