"""Makes the best embeddings for given documents from published vectors, training, encoded words and dictionaries."""
