"""The sample texts as a parallel corpus: enough to see that the evaluation works, far too few to measure by."""

from __future__ import annotations

from evaluation.corpora.pages import SPLIT_SEED, Corpus, Page, Paragraph, split
from ingest.embeddings.samples import LANGUAGES, SampleText, sample_texts

N_TRAIN = 53
"""Of 69 texts; the other 16 are for the test."""

__all__ = ["LANGUAGES", "N_TRAIN", "load_parallel_texts"]


def load_parallel_texts(*, n_train: int = N_TRAIN, seed: int = SPLIT_SEED) -> Corpus:
    """Read and split the shipped corpus. A text is a page, and a sentence of it a paragraph."""
    train, test = split([_page(text) for text in sample_texts()], n_train, seed)
    return Corpus("texts", LANGUAGES, train, test)


def _page(text: SampleText) -> Page:
    sentences = tuple(Paragraph(str(n), sentence) for n, sentence in enumerate(text.sentences, start=1))
    return Page(text.group, text.language, text.title, sentences, module="parallel_texts")
