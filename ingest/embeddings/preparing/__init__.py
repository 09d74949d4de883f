"""Makes the best embeddings for given documents from training, encoded words and dictionaries."""
