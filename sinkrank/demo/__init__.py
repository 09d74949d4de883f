"""Parallel corpora: the same pages in several languages, for training, ingest and evaluation."""

from ingest.fetching.debian import CorpusUnavailable
from sinkrank.demo.libreoffice import load_libreoffice
from sinkrank.demo.pages import Corpus, Page, Paragraph
from sinkrank.demo.shipped import load_parallel_texts

__all__ = [
    "Corpus",
    "CorpusUnavailable",
    "Page",
    "Paragraph",
    "load_libreoffice",
    "load_parallel_texts",
]
