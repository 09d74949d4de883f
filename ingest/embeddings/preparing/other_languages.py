"""Adds languages to finished embeddings, whose own words stay as they are, bit for bit.

The words of the other languages and those of the documents are encoded with multilingual-e5-small and moved together by
dictionaries. A rotation maps this space onto that of the embeddings (Procrustes; Xing et al. 2015), and each word moves
half way to its translations. The same encoder reads queries in the other languages; its vectors are mapped by ridge
regression over passages of the documents.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.copying import append_store
from ingest.embeddings.dictionaries import Pair
from ingest.embeddings.encoded_words import encode_words
from ingest.embeddings.preparing.parts import (
    LANGUAGES,
    read_dictionaries,
    with_dictionaries,
)
from ingest.embeddings.preparing.passages import MIN_PASSAGES, draw_passages, encode_passages, passage_means
from ingest.embeddings.preparing.texts import DocumentFile
from ingest.embeddings.sentence_map import ridge
from ingest.embeddings.spectral import unit_rows
from ingest.embeddings.summary import EmbeddingsSummary
from ingest.embeddings.word_encoder import WordVectors
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings, EmbeddingsWriter
from reranker.embeddings.query_encoder import QueryEncoderFiles
from reranker.text.normalization import as_written

# Of each language, for the mean of its vectors.
_MAX_COMPARED = 3_000

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class OtherLanguages:
    """Maps words and queries of other languages into the space of finished embeddings.

    Attributes:
        first: languages of the finished embeddings.
        others: languages to add.
    """

    first: Sequence[str]
    others: Sequence[str]
    home: Path
    dictionaries: Sequence[str] = ()
    n_threads: int = 1
    name: str = LANGUAGES

    @property
    def description(self) -> str:
        return (
            f"map words and queries in {', '.join(self.others)} into the space of {', '.join(self.first)} with "
            f"multilingual-e5-small{with_dictionaries(self.dictionaries)}"
        )

    def make(
        self,
        embeddings: Embeddings,
        texts: DocumentFile,
        output: Path,
        progress: Progress = no_progress,
    ) -> EmbeddingsSummary:
        """Writes the embeddings with the other languages.

        Raises:
            SinkrankError: the encoder cannot be loaded, or there are too few common words.
        """
        from ingest.embeddings.sentence_models import E5, open_encoder

        started = time.monotonic()
        pairs, missing = read_dictionaries(self.dictionaries, self.home, progress)
        encoder = open_encoder(E5, self.home / "models", self.n_threads)
        with WordVectors(self.home / "encoded-words.sqlite3", encoder) as vectors:
            summary = encode_words(
                pairs,
                vectors,
                texts.path.parent / LANGUAGES,
                collection=texts.collection.only([*self.first, *self.others]),
                whole_languages=self.others,
                progress=progress,
            )
            words = Embeddings.open(summary.output)
            offsets = [self._offset(language, words, vectors) for language in self.others]
        encoders, not_encoded = self._query_encoders(embeddings, texts, np.array(offsets), progress)
        rotation = self._rotation(words, embeddings)
        source = {"first": embeddings.meta["source"], "others": list(self.others), "encoder": encoder.name}
        with EmbeddingsWriter(
            output,
            dim=embeddings.dim,
            source=source,
            query_encoders=encoders,
            mapped_languages=self.others,
        ) as writer:
            append_store(writer, embeddings)
            for language in self.others:
                self._append(writer, language, words, embeddings, rotation, pairs)
            counted = {language: texts.collection.n_documents.get(language, 0) for language in self.others}
            writer.commit((embeddings.meta["n_documents"] or {}) | counted)
        return EmbeddingsSummary.of(Embeddings.open(output), started, summary.skipped, [*missing, *not_encoded])

    def _rotation(self, words: Embeddings, embeddings: Embeddings) -> Floats:
        """(dim of `words`, dim of `embeddings`): the rotation that brings the common words nearest."""
        found = [
            (term_id, embeddings.vocabulary.find(*words.term(term_id)))
            for language in self.first
            for term_id in words.vocabulary.term_ids(language).tolist()
        ]
        common = np.array([each for each in found if each[1] >= 0], dtype=np.int64).reshape(-1, 2)
        if len(common) < 2:
            raise BadInput(
                f"the words of {', '.join(self.first)} were not encoded, so that no other language can be added"
            )
        left, _, right = np.linalg.svd(
            words.vectors[common[:, 0]].T.astype(np.float64) @ embeddings.vectors[common[:, 1]], full_matrices=False
        )
        return np.asarray(left @ right, dtype=np.float32)

    def _append(
        self,
        writer: EmbeddingsWriter,
        language: str,
        words: Embeddings,
        embeddings: Embeddings,
        rotation: Floats,
        pairs: Sequence[Pair],
    ) -> None:
        """Adds the words of a language: the rotated vector and the mean of the translations, half each."""
        term_ids = words.vocabulary.term_ids(language)
        if not len(term_ids):
            return
        terms = [words.term(term_id)[1] for term_id in term_ids.tolist()]
        places = {term: place for place, term in enumerate(terms)}
        translations: dict[int, set[int]] = {}
        for pair in pairs:
            for own, other in (pair, pair[::-1]):
                place = places.get(own[1]) if own[0] == language else None
                found = embeddings.vocabulary.find(*other) if place is not None and other[0] in self.first else -1
                if place is not None and found >= 0:
                    translations.setdefault(place, set()).add(found)
        rows = unit_rows(words.vectors[term_ids] @ rotation)
        for place, term_rows in translations.items():
            rows[place] += unit_rows(embeddings.vectors[sorted(term_rows)].sum(axis=0, keepdims=True))[0]
        counted = words.document_frequencies
        writer.append(language, terms, rows, None if counted is None else counted[term_ids])

    def _offset(self, language: str, words: Embeddings, vectors: WordVectors) -> Floats:
        """(dim,): how far the encoder's vectors of the language lie from those of the first languages, by the means of
        their most frequent words. Each language has a region of its own (Libovický, Rosa and Fraser 2020)."""
        asked, known = (_most_frequent(words, languages) for languages in ([language], self.first))
        if not asked or not known:
            return np.zeros(words.dim, dtype=np.float32)
        offset = vectors.encode(asked).mean(axis=0) - vectors.encode(known).mean(axis=0)
        return np.asarray(offset, dtype=np.float32)

    def _query_encoders(
        self, embeddings: Embeddings, texts: DocumentFile, offsets: Floats, progress: Progress
    ) -> tuple[list[QueryEncoderFiles], list[str]]:
        """The encoders of the embeddings, and multilingual-e5-small for queries in the other languages; or why not."""
        from ingest.embeddings.sentence_models import E5

        encoders = [QueryEncoderFiles.read(embeddings.path, each.model) for each in embeddings.query_encoders]
        if [files.model.name for files in encoders] == [E5.name]:
            (files,) = encoders
            model = E5.query_model([*files.model.languages, *self.others])
            means = np.concatenate([files.means, files.means[0] + offsets])
            return [replace(files, model=model, means=means)], []
        passages = draw_passages(texts, self.first)
        encoded = encode_passages(E5, passages, self.home, self.n_threads, progress)
        known, means = passage_means(embeddings, passages)
        if len(known) < MIN_PASSAGES:
            return encoders, [
                f"queries are not encoded, since the documents have {len(known)} passages, fewer than {MIN_PASSAGES}"
            ]
        mean = encoded[known].mean(axis=0)
        mapped = ridge(unit_rows(encoded[known] - mean), means).astype(np.float32)
        model = E5.query_model(self.others, is_mapped=True)
        return [*encoders, QueryEncoderFiles(model, *E5.files(self.home / "models"), mean + offsets, mapped)], []


def _most_frequent(words: Embeddings, languages: Sequence[str]) -> list[str]:
    term_ids = [term_id for language in languages for term_id in words.vocabulary.term_ids(language).tolist()]
    return [as_written(words.term(term_id)[1], words.term(term_id)[0]) for term_id in term_ids[:_MAX_COMPARED]]
