"""Texts: documents, languages, tokens, bags of words and how rare words are."""
