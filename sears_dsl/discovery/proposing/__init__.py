"""Paraphrases → candidate rules that explain what changed."""
