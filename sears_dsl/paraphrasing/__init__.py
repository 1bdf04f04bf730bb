"""Sentences → paraphrases, by translating there and back or by a source of your own."""
