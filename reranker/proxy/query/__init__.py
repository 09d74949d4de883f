"""Reads queries: the query DSL, the two query syntaxes, the mappings that say what a field holds."""
