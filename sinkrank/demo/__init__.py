"""Parallel corpora: the same pages in several languages, for training, ingest and evaluation."""

from sinkrank.demo.libreoffice import load_libreoffice
from sinkrank.demo.pages import Corpus, CorpusPage, Paragraph
from sinkrank.demo.shipped import load_parallel_texts

__all__ = [
    "Corpus",
    "CorpusPage",
    "Paragraph",
    "load_libreoffice",
    "load_parallel_texts",
]
