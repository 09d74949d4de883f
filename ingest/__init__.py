"""Brings documents and embeddings in: files → checked documents → bags of words → an index."""
