"""Makes the best embeddings for some documents: published vectors, training, encoded words and dictionaries, joined."""
