"""How well the re-ranking finds what it should: corpora, tasks, runs, measures and their report."""
