"""Measures the quality of rankings: corpora, tasks, runs, measures and reports."""
