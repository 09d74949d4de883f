"""Measures how the cost of ingest and search grows with the number of documents, from 10^4 to 10^6 real ones."""
