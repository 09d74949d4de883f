"""Compares methods on an index with the user's own relevance judgments, and tunes parameters with them."""
