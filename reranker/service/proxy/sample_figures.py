"""Counts what a sample of an index's documents says about the whole: document frequencies, languages, unknown words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reranker.detection import guess_language
from reranker.embeddings import Embeddings
from reranker.idf import FrequencyCounter, IdfTable

# On fewer documents of a language a word's frequency is chance.
MIN_DOCUMENTS = 50


@dataclass(frozen=True, slots=True, eq=False)
class SampleFigures:
    """Figures of a sample of documents.

    Attributes:
        n_documents: those with text.
        idf: of each language with `MIN_DOCUMENTS` documents or more.
        languages: share of the documents by the language that they are read in, the largest first; they sum to 1.
        unknown_share: of the documents' words, those without an embedding, 0 to 1; stop words are not counted.
    """

    n_documents: int = 0
    idf: IdfTable = field(default_factory=IdfTable)
    languages: Mapping[str, float] = field(default_factory=dict)
    unknown_share: float = 0.0


def sample_figures(texts: Iterable[str], embeddings: Embeddings) -> SampleFigures:
    """Reads each text as the proxy reads a hit's, and counts.

    Args:
        texts: one a document; those without a letter are left out.
    """
    counters: dict[str, FrequencyCounter] = {}
    n_by_language: Counter[str] = Counter()
    n_tokens = n_unknown = 0
    for text in texts:
        language = guess_language(text, embeddings)
        bag = embeddings.bag(text, language)
        n_known = int(bag.counts.sum())
        if not n_known + bag.n_unknown:
            continue
        counters.setdefault(language, FrequencyCounter()).add(bag)
        n_by_language[language] += 1
        n_tokens += n_known + bag.n_unknown
        n_unknown += bag.n_unknown
    n_documents = n_by_language.total()
    return SampleFigures(
        n_documents,
        IdfTable({code: counters[code].result() for code, n in n_by_language.items() if n >= MIN_DOCUMENTS}),
        {code: n / n_documents for code, n in n_by_language.most_common()},
        n_unknown / n_tokens if n_tokens else 0.0,
    )
