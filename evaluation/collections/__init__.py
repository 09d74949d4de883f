"""Users' judged collections: reading, indexing, and measuring them with other systems."""
