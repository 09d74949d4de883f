"""Counts what a sample of an index's documents says about the whole: document frequencies, languages, unknown words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from reranker.embeddings import Embeddings
from reranker.embeddings.detection import guess_language
from reranker.text.idf import DocumentFrequencies, FrequencyCounter, IdfTable

# On fewer documents of a language a word's frequency is chance.
MIN_DOCUMENTS = 50


@dataclass(frozen=True, slots=True, eq=False)
class SampleFigures:
    """Figures of a sample of documents.

    Attributes:
        frequencies: by the language that the documents are read in; those without a word are not counted.
        n_tokens, n_unknown: words of all documents, and those of them without an embedding; stop words are not counted.
    """

    frequencies: Mapping[str, DocumentFrequencies] = field(default_factory=dict)
    n_tokens: int = 0
    n_unknown: int = 0

    @property
    def n_documents(self) -> int:
        return sum(each.n_documents for each in self.frequencies.values())

    @property
    def languages(self) -> dict[str, float]:
        """The share of the documents by language, the largest first; they sum to 1."""
        total = self.n_documents
        shares = {code: each.n_documents / total for code, each in self.frequencies.items()}
        return dict(sorted(shares.items(), key=lambda share: -share[1]))

    @property
    def unknown_share(self) -> float:
        """Of the documents' words, 0 to 1."""
        return self.n_unknown / self.n_tokens if self.n_tokens else 0.0

    @property
    def idf(self) -> IdfTable:
        """Of the languages with `MIN_DOCUMENTS` documents or more."""
        return IdfTable({code: each for code, each in self.frequencies.items() if each.n_documents >= MIN_DOCUMENTS})


def sample_figures(texts: Iterable[str], embeddings: Embeddings) -> SampleFigures:
    """Reads each text as the proxy reads a hit's, and counts.

    Args:
        texts: one a document.
    """
    counters: dict[str, FrequencyCounter] = {}
    n_tokens = n_unknown = 0
    for text in texts:
        language = guess_language(text, embeddings)
        bag = embeddings.bag(text, language)
        n_words = int(bag.counts.sum()) + bag.n_unknown
        if n_words:
            counters.setdefault(language, FrequencyCounter()).add(bag)
            n_tokens += n_words
            n_unknown += bag.n_unknown
    return SampleFigures({code: counter.result() for code, counter in counters.items()}, n_tokens, n_unknown)


def joined_figures(parts: Sequence[SampleFigures]) -> SampleFigures:
    """The figures of several samples together."""
    languages = dict.fromkeys(code for part in parts for code in part.frequencies)
    return SampleFigures(
        {code: _joined([part.frequencies[code] for part in parts if code in part.frequencies]) for code in languages},
        sum(part.n_tokens for part in parts),
        sum(part.n_unknown for part in parts),
    )


def _joined(parts: Sequence[DocumentFrequencies]) -> DocumentFrequencies:
    if len(parts) == 1:
        return parts[0]
    term_ids = np.unique(np.concatenate([part.term_ids for part in parts]))
    counts = np.zeros(len(term_ids), dtype=np.int32)
    for part in parts:
        counts[np.searchsorted(term_ids, part.term_ids)] += part.counts  # they are distinct, so no count is lost
    return DocumentFrequencies(sum(part.n_documents for part in parts), term_ids, counts)
