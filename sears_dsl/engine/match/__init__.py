"""Flat arrays and tokens → instances of rules."""
