"""Opens an embedding store; turns terms into embeddings and texts into bags of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from reranker.base.errors import BadEmbeddings, SinkrankError, UnknownLanguage, UnknownWords, VersionMismatch
from reranker.embeddings.folder import DOCUMENT_FREQUENCIES, VECTORS, read_meta
from reranker.embeddings.manifest import check, checked_blocks
from reranker.embeddings.query_encoder import QueryEncoder, QueryEncoding
from reranker.embeddings.spelling import Spellings
from reranker.embeddings.stem_keys import StemKeys
from reranker.embeddings.text_reader import TextReader
from reranker.embeddings.unknown import StandIns
from reranker.embeddings.vocabulary import Vocabulary, open_array
from reranker.native.sparse import times_dense
from reranker.text.bags import BagOfWords, WeightedBag, WeightedBags, check_term_ids, unknown_hashes
from reranker.text.idf import DocumentFrequencies, IdfTable
from reranker.text.normalization import normalize_term
from reranker.text.segmentation import check_can_split
from reranker.text.tokens import has_digit

# In float32, unit vectors that cancel out leave a mean of about 1e-8.
_VANISHING_NORM = 1e-6
_MAX_SPELLINGS = 3


class Embeddings:
    """An embedding store, opened read-only; threads may share it, and a pickled one is opened again by path.

    Attributes:
        path: the folder.
        vectors: (n_terms, dim), each row of length 1: mapped float32.
        document_frequencies: (n_terms,) int32, documents of the training text with each term; None if not counted.
        n_terms: number of terms, all languages.
        dim: dimensions of an embedding.
        languages: the ISO 639-1 codes of the store's languages.
        version: a hash of terms and vectors; two stores with the same version have the same term ids.
        meta: the contents of `meta.json`.
        mapped_languages: languages whose words were mapped into the space of the others. A token of another language
            gets no stand-in of theirs, so that they change nothing for it.
        document_language: the only language of documents: all other languages were mapped, and no document of the
            training text is in one of them. None if there are several.
        query_encoders: sentence encoders that encode queries, each in other languages.
        unknown: which terms may stand for words without an embedding.
    """

    def __init__(
        self,
        path: Path,
        meta: Mapping[str, Any],
        vectors: NDArray[np.float32],
        vocabulary: Vocabulary,
        document_frequencies: NDArray[np.int32] | None,
        query_encoders: Sequence[QueryEncoder] = (),
    ) -> None:
        self.path = path
        self.meta = meta
        # Indexing a plain array is faster than a memory map; the memory is the same.
        self.vectors = np.asarray(vectors)
        self.vocabulary = vocabulary
        self.n_terms, self.dim = vectors.shape
        self.languages = vocabulary.languages
        self.version: str = meta["version"]
        self.document_frequencies = document_frequencies
        self.mapped_languages: tuple[str, ...] = tuple(meta["mapped_languages"])
        asked_alone = {code for code in self.mapped_languages if not (meta["n_documents"] or {}).get(code)}
        read = [code for code in self.languages if code not in asked_alone]
        self.document_language = read[0] if len(read) == 1 else None
        self.query_encoders = tuple(query_encoders)
        self.stem_keys = StemKeys(vocabulary)
        self.unknown = StandIns(vocabulary, self.stem_keys, Spellings.open(path, vocabulary), self.mapped_languages)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Opens a store that `sinkrank embeddings prepare`, `train` or `import` has made.

        Raises:
            BadInput: a language of the store is written without spaces, and the package that finds its words is not
                installed.
            NoEmbeddings: there is nothing at the path.
            NotFound: it is not an embedding store.
            BadEmbeddings: the store is damaged: a file is missing or differs from `meta.json`. Of files over 16 MiB
                only some blocks are compared; `checked_blocks` reads all bytes.
            VersionMismatch: the store has another format, or was made with another tokenizer.
        """
        path = Path(path).resolve()
        meta = read_meta(path)
        check(path, meta)
        check_can_split(meta["languages"], f"the embeddings in {path} hold words in")
        n_terms, dim = meta["n_terms"], meta["dim"]
        vocabulary = Vocabulary.open(path, list(meta["languages"]), n_terms, meta["n_term_bytes"])
        vectors = open_array(path / VECTORS, np.float32, (n_terms, dim))
        frequencies = None
        if meta["n_documents"] is not None:
            frequencies = open_array(path / DOCUMENT_FREQUENCIES, np.int32, (n_terms,))
        opened = [QueryEncoder.open(path, each, dim) for each in meta["query_encoders"]]
        return cls(path, meta, vectors, vocabulary, frequencies, opened)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (type(self), self.path, self.version)

    def __repr__(self) -> str:
        return f"<Embeddings {self.path}: {self.n_terms} terms, dim {self.dim}, {' '.join(self.languages)}>"

    def query_encoding(self, text: str, language: str) -> QueryEncoding | None:
        """The encoding of a query, not begun; None if no encoder reads the language."""
        found = (encoder.query(text, language) for encoder in self.query_encoders)
        return next((encoding for encoding in found if encoding is not None), None)

    def term_id(self, language: str, term: str) -> int | None:
        """The row of a normalised term (`reranker.text.normalization.normalize_term`), or None."""
        found = self.vocabulary.find(language, term)
        return found if found >= 0 else None

    def stand_ins(self, language: str, token: str) -> tuple[int, ...]:
        """The rows that give a normalised token its embeddings: its own, or another one or those of its parts
        (`unknown`). Empty if there is no such row, for numbers, and for languages that the store does not contain."""
        if language not in self.languages or has_digit(token):  # 8601 and 8602 are one edit apart but unrelated
            return ()
        found = self.term_id(language, token)
        if found is None:
            found = self.reader.stand_in(language, token)
        return self.unknown.parts(language, [token])[0] if found is None else (found,)

    def knows(self, language: str, token: str) -> bool:
        """Whether a normalised token is a term of its language, consists of terms, or is a form of one (`unknown`): a
        term that is only spelled alike does not count."""
        if language not in self.languages or has_digit(token):
            return False
        return self.term_id(language, token) is not None or bool(self.unknown.parts(language, [token])[0])

    def parts(self, language: str, token: str) -> list[str]:
        """The terms that a normalised token consists of, if it takes its embeddings from several; or else none."""
        term_ids = self.stand_ins(language, token)
        return [self.term(term_id)[1] for term_id in term_ids] if len(term_ids) > 1 else []

    def term(self, term_id: int) -> tuple[str, str]:
        """The (language, term) of a row.

        Raises:
            IndexError: there is no such row.
        """
        return self.vocabulary.term(term_id)

    def bags(self, texts: Sequence[str], languages: Sequence[str]) -> list[BagOfWords]:
        """The bag of each text's words (`reranker.text.tokens.tokenize`), which are of the language at its place."""
        return self.reader.read(texts, languages).bags()

    def bag(self, text: str, language: str) -> BagOfWords:
        """The bag of one text."""
        return self.bags([text], [language])[0]

    def bag_of_tokens(self, tokens: Iterable[str], language: str) -> BagOfWords:
        """The bag of tokens of one language, each counted as the terms of `stand_ins`: a compound counts as if its
        parts were written apart. Tokens without a term are unknown words; in a language that the store does not
        contain, all are."""
        counts: Counter[int] = Counter()
        unknown: dict[str, int] = {}
        for token, n in Counter(tokens).items():
            found = self.stand_ins(language, token)
            for term_id in found:
                counts[term_id] += n
            if not found:
                unknown[token] = n
        term_ids = sorted(counts)
        return BagOfWords(
            np.array(term_ids, dtype=np.int32),
            np.array([counts[term_id] for term_id in term_ids], dtype=np.int32),
            sum(unknown.values()),
            unknown_hashes(unknown),
        )

    def nbow(self, bag: WeightedBag) -> NDArray[np.float32] | None:
        """The L2-normalised weighted mean of a bag's embeddings (nBOW; Balikas et al. 2018).

        Returns:
            (dim,) float32 of length 1; None for an empty bag, and if the embeddings cancel out.

        Raises:
            BadInput: as `nbows`.
        """
        return self.nbows(WeightedBags.join([bag]))[0]

    def nbows(self, bags: WeightedBags) -> list[NDArray[np.float32] | None]:
        """`nbow` of each bag.

        Raises:
            BadInput: a bag is of other embeddings.
        """
        check_term_ids(bags.term_ids, len(self.vectors))
        means = times_dense(bags.weights.astype(np.float32), bags.term_ids, bags.offsets, self.vectors)
        norms = np.sqrt(np.einsum("ij,ij->i", means, means, dtype=np.float64))
        is_something = norms > _VANISHING_NORM
        means[is_something] /= norms[is_something, np.newaxis].astype(np.float32)
        return [mean if is_one else None for mean, is_one in zip(means, is_something.tolist(), strict=True)]

    @cached_property
    def reader(self) -> TextReader:
        return TextReader(self.vocabulary, self.unknown)

    @cached_property
    def idf(self) -> IdfTable:
        """Document frequencies of the training text, for an index without its own; empty if they were not counted."""
        frequencies = self.document_frequencies
        if frequencies is None:
            return IdfTable()
        languages = {}
        for language, n_documents in self.meta["n_documents"].items():
            term_ids = self.vocabulary.term_ids(language)
            counts: NDArray[np.int32] = np.asarray(frequencies)[term_ids]
            is_counted = counts > 0
            languages[language] = DocumentFrequencies(
                n_documents, term_ids[is_counted].astype(np.int32), counts[is_counted]
            )
        return IdfTable(languages)

    def nearest(self, term: str, language: str, target_language: str | None, n: int) -> list[tuple[str, str, float]]:
        """The `n` other terms with the highest cosine to a term. The search is exact, over all rows.

        Args:
            term: normalised here.
            target_language: search terms of this language only; None for all.

        Returns:
            (language, term, cosine), the highest first; equal cosines by term id.

        Raises:
            UnknownLanguage: the store does not contain a language.
            UnknownWords: the term has no embedding; the message names similar spellings that have one.
        """
        self._check_language(language)
        if target_language is not None:
            self._check_language(target_language)
        term_id = self.term_id(language, normalize_term(term, language))
        if term_id is None:
            raise UnknownWords(self._unknown_word(term, [language]))
        cosines = self.vectors @ self.vectors[term_id]
        is_candidate = np.ones(self.n_terms, dtype=bool)
        if target_language is not None:
            is_candidate = self.vocabulary.places == self.languages.index(target_language)
        is_candidate[term_id] = False
        ids = np.flatnonzero(is_candidate)
        if 0 < n < len(ids):
            # Keep all terms that tie with the n-th; the sort below orders them.
            least = np.partition(cosines[ids], len(ids) - n)[len(ids) - n]
            ids = ids[cosines[ids] >= least]
        best = ids[np.argsort(-cosines[ids], kind="stable")][: max(0, n)]
        return [(*self.term(int(row)), float(cosines[row])) for row in best]

    def languages_of(self, term: str) -> list[str]:
        """The languages in which a term, normalised here, has an embedding.

        Raises:
            UnknownWords: none has; the message names similar spellings that have one.
        """
        found = [code for code in self.languages if self.term_id(code, normalize_term(term, code)) is not None]
        if not found:
            raise UnknownWords(self._unknown_word(term, self.languages))
        return found

    def checked_blocks(self) -> Iterator[int]:
        """Reads all files, block by block, and yields the size of each correct block. It ends early if other embeddings
        have replaced these on the disk; the opened ones stay usable.

        Raises:
            BadEmbeddings: a block is damaged; the message says where it is.
        """
        try:
            yield from checked_blocks(self.path, self.meta)
        except BadEmbeddings:
            if not self._is_replaced():
                raise

    def _is_replaced(self) -> bool:
        try:
            return read_meta(self.path) != self.meta
        except SinkrankError:
            return False

    def _check_language(self, language: str) -> None:
        if language not in self.languages:
            raise UnknownLanguage(
                f"the embeddings in {self.path} have no language {language!r}, only {', '.join(self.languages)}; "
                "give one of these, or import embeddings of that language"
            )

    def _unknown_word(self, term: str, languages: Sequence[str]) -> str:
        # At most one edit for three letters, so that suggestions are similar.
        found = [
            match
            for language in languages
            for match in process.extract(
                normalize_term(term, language),
                [known for _, known in self.vocabulary.terms(language)],
                scorer=Levenshtein.distance,
                score_cutoff=max(1, len(term) // 3),
                limit=_MAX_SPELLINGS,
            )
        ]
        spellings = dict.fromkeys(spelling for spelling, _, _ in sorted(found, key=lambda match: match[1]))
        where = f"in language {languages[0]!r}" if len(languages) == 1 else f"in {', '.join(languages)}"
        if not spellings:
            return f"{term!r} has no embedding {where}; try another word"
        near = ", ".join(map(repr, list(spellings)[:_MAX_SPELLINGS]))
        return f"{term!r} has no embedding {where}; similar words with one: {near}"


def _reopen(kind: type[Embeddings], path: Path, version: str) -> Embeddings:
    embeddings = kind.open(path)
    if embeddings.version != version:
        raise VersionMismatch(
            f"the embeddings in {path} are now of version {embeddings.version}, not {version}; start the service again"
        )
    return embeddings
