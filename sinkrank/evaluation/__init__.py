"""Judges an index with queries and relevance judgments: reading, searching, measuring, comparing, tuning."""
