"""Corpora that only the papers' suite uses."""
