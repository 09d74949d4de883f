"""Ingests documents (files → checked documents → bags of words → an index) and makes embeddings."""
