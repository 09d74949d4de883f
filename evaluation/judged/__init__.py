"""Compares methods on an index by people's own relevance judgments, and chooses parameters by them."""
