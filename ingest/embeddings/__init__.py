"""Makes embedding stores: trained on documents, or imported from the files that others have published."""
