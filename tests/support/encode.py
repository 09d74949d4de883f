"""Turns a document into its bag of words and its nBOW embedding, alone; ingest does it for many together."""

from __future__ import annotations

from reranker.embeddings import Embeddings
from reranker.text.documents import Document, EncodedDocument
from reranker.text.idf import IdfTable


def encode(document: Document, embeddings: Embeddings, idf: IdfTable) -> EncodedDocument:
    """Tokenises, counts and embeds a checked document. A document without a known word has no nBOW embedding."""
    bag = embeddings.bag(document.full_text, document.language)
    return EncodedDocument(document, bag, embeddings.nbow(idf.weigh(bag, document.language)))
