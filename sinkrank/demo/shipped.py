"""The sample texts as a parallel corpus: enough to check that the evaluation works, too few to measure quality."""

from __future__ import annotations

from ingest.embeddings.samples import LANGUAGES, SampleText, sample_texts
from sinkrank.demo.pages import SPLIT_SEED, Corpus, CorpusPage, Paragraph, split

N_TRAIN = 53
"""Number of texts for training, of 69; the other 16 are for the test."""

__all__ = ["LANGUAGES", "N_TRAIN", "load_parallel_texts"]


def load_parallel_texts() -> Corpus:
    """Reads and splits the shipped corpus. Texts are pages, and sentences are paragraphs."""
    train, test = split([_page(text) for text in sample_texts()], N_TRAIN, SPLIT_SEED)
    return Corpus("texts", LANGUAGES, train, test)


def _page(text: SampleText) -> CorpusPage:
    sentences = tuple(Paragraph(str(n), sentence) for n, sentence in enumerate(text.sentences, start=1))
    return CorpusPage(text.group, text.language, text.title, sentences, module="parallel_texts")
