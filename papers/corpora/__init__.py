"""Corpora of the papers' suite alone."""
