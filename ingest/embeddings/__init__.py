"""Makes embedding stores: trained on aligned texts, or imported from the files that others have published."""
