"""Stands in for TextAttack."""
