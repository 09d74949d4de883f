"""One table of judged collections: ours beside BM25, bags of words, transport alone and sentence encoders."""
