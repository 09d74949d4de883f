"""Computes the hubness of documents: how near they are to queries in general.

A hub is near to all queries, so it ranks too high for most of them. Its hubness is its mean cosine to the nearest 10 of
a sample of queries in the query's language (as in CSLS: Lample et al. 2018, section 2.3). The sample is taken from the
index's own documents.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reranker.embeddings import Embeddings
from reranker.text.bags import BagOfWords, pack, unpack
from reranker.text.documents import id_hash
from reranker.text.idf import IdfTable
from reranker.transport.nbow import mean_embeddings
from reranker.transport.query_sample import QuerySample

# Chosen by measurement (papers/results/order.md). A sampled query is the first 8 tokens of a document.
SAMPLE_TOKENS = 8
SAMPLE_QUERIES = 400
N_NEAREST = 10
# With fewer, the nearest 10 are a fifth of the sample or more, and the mean is noise. 100 queries give half the gain of
# 400.
MIN_QUERIES = 50

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class HubnessSample:
    """Sampled queries by language: the `SAMPLE_QUERIES` documents whose ids have the smallest hashes, among those with
    a known word in their first `SAMPLE_TOKENS` tokens. So the order of the documents does not matter, and samples of
    two sets of documents can be merged into the sample of both.

    Attributes:
        embeddings_version: version of the embeddings that the term ids belong to; empty if nothing was sampled.
        languages: language → `documents.id_hash` → the document's first words, packed (`bags.pack`).
    """

    embeddings_version: str = ""
    languages: Mapping[str, Mapping[int, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, embeddings_version: str, documents: Iterable[tuple[str, str, BagOfWords]]) -> HubnessSample:
        """The sample of documents, each given by its language, its id, and the bag of its first `SAMPLE_TOKENS`
        tokens."""
        languages: dict[str, dict[int, str]] = {}
        for language, doc_id, words in documents:
            if len(words):
                known = BagOfWords(words.term_ids, words.counts)
                languages.setdefault(language, {})[id_hash(doc_id)] = pack(known)
        return cls(embeddings_version, {language: _smallest(found) for language, found in sorted(languages.items())})

    def merged(self, other: HubnessSample) -> HubnessSample:
        """The sample of both sets of documents, made with the same embeddings; for a document in both, the words of
        `other` count."""
        languages = {
            language: _smallest({**self.languages.get(language, {}), **other.languages.get(language, {})})
            for language in sorted({*self.languages, *other.languages})
        }
        return HubnessSample(self.embeddings_version, languages)

    def as_json(self) -> dict[str, Any]:
        languages = {
            language: {str(hashed): packed for hashed, packed in queries.items()}
            for language, queries in self.languages.items()
        }
        return {"format": _FORMAT, "embeddings_version": self.embeddings_version, "languages": languages}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> HubnessSample:
        """Reads the result of `as_json`; empty if another version of Sinkrank wrote it in another format."""
        if value.get("format") != _FORMAT:
            return cls()
        languages = {
            language: {int(hashed): packed for hashed, packed in queries.items()}
            for language, queries in value["languages"].items()
        }
        return cls(value["embeddings_version"], languages)


class Hubness:
    """The hubness sample of one index as nBOW embeddings, weighted with the index's idf. Those of a language are
    computed at its first query. Threads may share it.

    Args:
        sample: from the index; ignored if it was made with other embeddings.
    """

    def __init__(self, sample: HubnessSample, idf: IdfTable, embeddings: Embeddings) -> None:
        fits = sample.embeddings_version == embeddings.version
        self._sample = sample if fits else HubnessSample()
        self._idf = idf
        self._embeddings = embeddings
        self._samples: dict[str, QuerySample | None] = {}
        self._lock = threading.Lock()

    def queries(self, language: str) -> QuerySample | None:
        """The sampled queries of a language, by which the hubness of documents is measured; None if there are fewer
        than `MIN_QUERIES`."""
        with self._lock:
            if language not in self._samples:
                self._samples[language] = self._embed(language, self._sample.languages.get(language, {}).values())
            return self._samples[language]

    def _embed(self, language: str, queries: Iterable[str]) -> QuerySample | None:
        vectors = self._embeddings.vectors
        weighted = self._idf.weigh_all([(unpack(packed), language) for packed in queries], len(vectors))
        vectors = mean_embeddings(weighted, vectors)
        vectors = vectors[vectors.any(axis=1)]
        return QuerySample(vectors, N_NEAREST) if len(vectors) >= MIN_QUERIES else None


def _smallest(queries: Mapping[int, str]) -> dict[int, str]:
    return {hashed: queries[hashed] for hashed in sorted(queries)[:SAMPLE_QUERIES]}
