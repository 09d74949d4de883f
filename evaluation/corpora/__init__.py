"""Parallel corpora: the same pages in several languages, for training, ingest and evaluation."""

from evaluation.corpora.libreoffice import load_libreoffice
from evaluation.corpora.pages import Corpus, Page, Paragraph
from evaluation.corpora.shipped import load_parallel_texts
from ingest.fetching.debian import CorpusUnavailable

__all__ = [
    "Corpus",
    "CorpusUnavailable",
    "Page",
    "Paragraph",
    "load_libreoffice",
    "load_parallel_texts",
]
