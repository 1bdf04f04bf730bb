"""Stands in for CheckList."""
