"""Turns a document into its bag of words and its nBOW embedding."""

from __future__ import annotations

from dataclasses import replace

from reranker.base.errors import BadDocument
from reranker.embeddings import Embeddings
from reranker.text.documents import Document, EncodedDocument
from reranker.text.idf import IdfTable
from reranker.text.languages import language_code


def check_document(document: Document) -> Document:
    """The document with its language as a code.

    Raises:
        BadDocument: no id or no text.
        UnknownLanguage: the language is not known.
    """
    if not document.doc_id:
        raise BadDocument("the document has no id; give each a unique, non-empty id")
    if not document.full_text.strip():
        raise BadDocument(f"document {document.doc_id!r} has no text; give it a title or a text")
    return replace(document, language=language_code(document.language))


def encode(document: Document, embeddings: Embeddings, idf: IdfTable) -> EncodedDocument:
    """Tokenises, counts and embeds a checked document. A document without a known word has no nBOW embedding."""
    bag = embeddings.bag(document.full_text, document.language)
    return EncodedDocument(document, bag, embeddings.nbow(idf.weigh(bag, document.language)))
