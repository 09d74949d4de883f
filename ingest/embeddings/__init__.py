"""Makes embedding stores: trained on documents, or imported from published files."""
