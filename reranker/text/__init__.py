"""Texts: documents, languages, tokens, bags of words and document frequencies."""
