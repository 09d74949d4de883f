"""The development part of a corpus, to choose parameters by, and what training and test pages share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sinkrank.demo.pages import Corpus, CorpusPage, count_words, split

# Parameters are tuned on pages that neither train the embeddings nor are test pages.
DEVELOPMENT_SUFFIX = "-development"
_DEVELOPMENT_TRAIN_SHARE = 5 / 7
_DEVELOPMENT_SEED = 7


def development(corpus: Corpus) -> Corpus:
    """Return the training pages as a corpus for tuning: 5 of 7 page ids are for training, the others for the test.

    No test page of the corpus is in it.
    Raises ValueError if there are fewer than two training page ids.
    """
    n_train = round(_DEVELOPMENT_TRAIN_SHARE * len({page.page_id for page in corpus.train_pages}))
    train, test = split(corpus.train_pages, n_train, _DEVELOPMENT_SEED)
    return Corpus(f"{corpus.name}{DEVELOPMENT_SUFFIX}", corpus.languages, train, test)


def shared_paragraph_share(train: Iterable[CorpusPage], test: Sequence[CorpusPage]) -> float:
    """Return the share (0 to 1, by words) of the test pages' text in paragraphs that a training page has too.

    Help texts repeat whole paragraphs. The share shows how much of the test text was seen in training.
    """
    seen = {(page.language, text) for page in train for _, text in page.paragraphs}
    n_words = n_seen = 0
    for page in test:
        for _, text in page.paragraphs:
            n = count_words(text)
            n_words += n
            n_seen += n if (page.language, text) in seen else 0
    return n_seen / n_words if n_words else 0.0
