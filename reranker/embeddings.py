"""Turns terms into embeddings and texts into bags of words, from a folder that is written once and then read.

    vectors.npy               (n_terms, dim) float32, L2-normalised; frequent terms of a language come first
    term_bytes.npy, term_offsets.npy, languages.npy, slots.npy     the vocabulary (`reranker.vocabulary`)
    document_frequencies.npy  (n_terms,) int32, only where the training text was counted
    meta.json                 what is in the folder, and its version

All arrays are memory-mapped: opening reads no vector, and the processes of a host share one copy.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from reranker.bags import BagOfWords, WeightedBag
from reranker.errors import BadEmbeddings, BadInput, NotFound, UnknownLanguage, UnknownWords, VersionMismatch
from reranker.idf import DocumentFrequencies, IdfTable
from reranker.languages import language_code
from reranker.tokens import TOKENIZER_VERSION, normalize_term, tokenize
from reranker.vocabulary import Vocabulary, VocabularyBuilder, open_array

FORMAT = 1

_META = "meta.json"
_VECTORS = "vectors.npy"
_DOCUMENT_FREQUENCIES = "document_frequencies.npy"
# Some 100 bytes an entry: at most 20 MB a language, and running text has fewer common terms.
_MAX_CACHED_TERMS = 200_000
_CHUNK_ROWS = 16_384  # 20 MB of vectors at 300 dimensions
# Rounding leaves about 1e-8 of a mean of unit vectors that cancel out in float32.
_VANISHING_NORM = 1e-6
_MAX_SPELLINGS = 3


class Embeddings:
    """An embedding store, opened read-only; threads may share it, and a pickled one is opened again by path.

    Attributes:
        path: the folder.
        vectors: (n_terms, dim) float32 memory map; each row has length 1.
        n_terms: number of terms, all languages.
        dim: dimensions of an embedding.
        languages: the ISO 639-1 codes held.
        version: a hash of terms and vectors: term ids of two stores of one version mean the same.
        meta: `meta.json` as it stands.
    """

    def __init__(
        self,
        path: Path,
        meta: Mapping[str, Any],
        vectors: NDArray[np.float32],
        vocabulary: Vocabulary,
        document_frequencies: NDArray[np.int32] | None,
    ) -> None:
        self.path = path
        self.meta = meta
        self.vectors = vectors
        self.vocabulary = vocabulary
        self.n_terms, self.dim = vectors.shape
        self.languages = vocabulary.languages
        self.version: str = meta["version"]
        self._rows = np.asarray(vectors)  # the same memory; picking rows of a plain array is faster
        self._document_frequencies = document_frequencies
        self._known: dict[str, dict[str, int]] = {language: {} for language in self.languages}

    @classmethod
    def open(cls, path: Path) -> Embeddings:
        """Opens a store that `sinkrank embeddings train` or `import` has made.

        Raises:
            NotFound: there is no store at the path.
            BadEmbeddings: the store is damaged: a file is missing or not of the size that `meta.json` gives.
            VersionMismatch: the store was made by another format or tokenizer.
        """
        path = Path(path).resolve()
        meta = _read_meta(path)
        n_terms, dim = meta["n_terms"], meta["dim"]
        vocabulary = Vocabulary.open(path, list(meta["languages"]), n_terms, meta["n_term_bytes"])
        vectors = open_array(path / _VECTORS, np.float32, (n_terms, dim))
        frequencies = None
        if meta["n_documents"] is not None:
            frequencies = open_array(path / _DOCUMENT_FREQUENCIES, np.int32, (n_terms,))
        return cls(path, meta, vectors, vocabulary, frequencies)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.path, self.version)

    def __repr__(self) -> str:
        return f"<Embeddings {self.path}: {self.n_terms} terms, dim {self.dim}, {' '.join(self.languages)}>"

    def term_id(self, language: str, term: str) -> int | None:
        """The row of a term, or None; the caller has normalised it (`reranker.tokens.normalize_term`)."""
        known = self._known.get(language)
        if known is None:
            return None
        found = known.get(term)
        if found is None:
            found = self.vocabulary.find(language, term)
            if len(known) >= _MAX_CACHED_TERMS:
                known.clear()  # a thread that reads meanwhile only looks the term up again
            known[term] = found
        return found if found >= 0 else None

    def term(self, term_id: int) -> tuple[str, str]:
        """The (language, term) of a row.

        Raises:
            IndexError: there is no such row.
        """
        return self.vocabulary.term(term_id)

    def bag(self, text: str, language: str) -> BagOfWords:
        """The known words among a text's tokens, counted (`reranker.tokens.tokenize`)."""
        return self.bag_of_tokens(tokenize(text, language), language)

    def bag_of_tokens(self, tokens: Iterable[str], language: str) -> BagOfWords:
        """The known words among tokens of one language, counted; a language that is not held has none."""
        counts: dict[int, int] = {}
        n_unknown = 0
        for token, count in Counter(tokens).items():
            term_id = self.term_id(language, token)
            if term_id is None:
                n_unknown += count
            else:
                counts[term_id] = count
        term_ids = sorted(counts)
        return BagOfWords(
            np.array(term_ids, dtype=np.int32),
            np.array([counts[term_id] for term_id in term_ids], dtype=np.int32),
            n_unknown,
        )

    def nbow(self, bag: WeightedBag) -> NDArray[np.float32] | None:
        """The L2-normalised weighted mean of a bag's embeddings (nBOW; Balikas et al. 2018).

        Returns:
            (dim,) float32 of length 1; None for an empty bag and where the embeddings cancel out.
        """
        if not len(bag):
            return None
        mean = bag.weights.astype(np.float32) @ self._rows[bag.term_ids]
        norm = float(np.linalg.norm(mean))
        return (mean / norm).astype(np.float32) if norm > _VANISHING_NORM else None

    @cached_property
    def idf(self) -> IdfTable:
        """The training text's figures, for an index that has none of its own; empty if none were kept."""
        frequencies = self._document_frequencies
        if frequencies is None:
            return IdfTable()
        languages = {}
        for language, n_documents in self.meta["n_documents"].items():
            term_ids = self.vocabulary.term_ids(language)
            counts: NDArray[np.int32] = np.asarray(frequencies)[term_ids]
            kept = counts > 0
            languages[language] = DocumentFrequencies(n_documents, term_ids[kept].astype(np.int32), counts[kept])
        return IdfTable(languages)

    def nearest(self, term: str, language: str, target_language: str | None, n: int) -> list[tuple[str, str, float]]:
        """The `n` terms of the highest cosine with a term, which is itself left out; exact, over all rows.

        Args:
            term: as a person writes it; it is normalised here.
            target_language: terms of this language only; None for all.

        Returns:
            (language, term, cosine), the nearest first; equal cosines by term id.

        Raises:
            UnknownLanguage: a language that the store does not hold.
            UnknownWords: the term has no embedding; near spellings that have one are named.
        """
        self._check_language(language)
        if target_language is not None:
            self._check_language(target_language)
        term_id = self.term_id(language, normalize_term(term))
        if term_id is None:
            raise UnknownWords(self._unknown_word(term, language))
        cosines = self._cosines(self._rows[term_id])
        wanted = np.ones(self.n_terms, dtype=bool)
        if target_language is not None:
            wanted = self.vocabulary.places == self.languages.index(target_language)
        wanted[term_id] = False
        ids = np.flatnonzero(wanted)
        if 0 < n < len(ids):
            # All that tie with the n-th stay, so that the order below decides between them.
            least = np.partition(cosines[ids], len(ids) - n)[len(ids) - n]
            ids = ids[cosines[ids] >= least]
        best = ids[np.argsort(-cosines[ids], kind="stable")][: max(0, n)]
        return [(*self.term(int(row)), float(cosines[row])) for row in best]

    def verify(self) -> None:
        """Reads every term and vector and compares their hash with the version; `open` only compares sizes.

        Raises:
            BadEmbeddings: they differ.
        """
        hasher = _version_hasher(self.dim)
        for start in range(0, self.n_terms, _CHUNK_ROWS):
            hasher.update(self._rows[start : start + _CHUNK_ROWS].data)
        hasher.update(self.vocabulary.digest())
        if hasher.hexdigest() != self.version:
            raise BadEmbeddings(
                f"the contents of {self.path} have hash {hasher.hexdigest()}, but meta.json says "
                f"{self.version}; the embedding store is damaged: import or train it again"
            )

    def _cosines(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        cosines = np.empty(self.n_terms, dtype=np.float32)
        for start in range(0, self.n_terms, _CHUNK_ROWS):
            chunk = self._rows[start : start + _CHUNK_ROWS]
            np.matmul(chunk, vector, out=cosines[start : start + len(chunk)])
        return cosines

    def _check_language(self, language: str) -> None:
        if language not in self.languages:
            raise UnknownLanguage(
                f"the embeddings in {self.path} hold no {language!r}, only {', '.join(self.languages)}; "
                "give one of these, or import embeddings of that language"
            )

    def _unknown_word(self, term: str, language: str) -> str:
        wanted = normalize_term(term)
        # One edit in three letters at most, so that no far-fetched word is offered.
        spellings = process.extract(
            wanted,
            [known for _, known in self.vocabulary.terms(language)],
            scorer=Levenshtein.distance,
            score_cutoff=max(1, len(wanted) // 3),
            limit=_MAX_SPELLINGS,
        )
        if not spellings:
            return f"{term!r} has no embedding in language {language!r}; try another word"
        near = ", ".join(repr(spelling) for spelling, _, _ in spellings)
        return f"{term!r} has no embedding in language {language!r}; spelled alike are {near}"


class EmbeddingsWriter:
    """Writes an embedding store block by block; nothing stands under its name until `commit`.

        with EmbeddingsWriter(path, dim=300, source="wiki.fr.vec") as writer:
            writer.append("fr", ["chat", "chien"], vectors)
            writer.commit()

    Leaving the block without `commit`, by an exception or Ctrl-C too, removes all that was written.

    Attributes:
        n_duplicates: rows left out because their language had the term already; the first counts.
        counts: terms of each language so far.
    """

    def __init__(self, output: Path, *, dim: int, source: object, replace: bool = False) -> None:
        """
        Args:
            output: the folder to make.
            source: where the embeddings come from, for `meta.json`; anything that JSON can hold.
            replace: whether to put the new store in the place of an old one; the old one goes last.

        Raises:
            BadInput: the folder exists and may not be replaced, or is not an embedding store.
        """
        self._output = Path(output).resolve()
        self._replace = replace
        check_output(self._output, replace=replace)
        if dim < 1:
            raise BadEmbeddings(f"dim is {dim}; an embedding has at least 1 dimension")
        self._dim = dim
        self._source = source
        self._vocabulary = VocabularyBuilder()
        self._hasher = _version_hasher(dim)
        self._frequencies: list[NDArray[np.int32]] = []
        self._folder: Path | None = None
        self._vectors: BinaryIO | None = None
        self.n_duplicates = 0

    @property
    def counts(self) -> Mapping[str, int]:
        return self._vocabulary.counts

    def __enter__(self) -> Self:
        self._output.parent.mkdir(parents=True, exist_ok=True)
        self._folder = _sibling(self._output, "partial")
        try:
            self._folder.mkdir()
            self._vectors = (self._folder / _VECTORS).open("wb")
            _write_header(self._vectors, 0, self._dim)
        except BaseException:
            self._discard()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._discard()

    def append(
        self,
        language: str,
        terms: Sequence[str],
        vectors: NDArray[np.floating[Any]],
        document_frequencies: NDArray[np.integer[Any]] | None = None,
    ) -> int:
        """Adds terms of one language, the most frequent first.

        Args:
            terms: normalised, k of them.
            vectors: (k, dim), of any length but 0; they are normalised here.
            document_frequencies: (k,) documents of the training text with each term; for all blocks or none.

        Returns:
            How many were new; the others are counted in `n_duplicates`.

        Raises:
            BadEmbeddings: a wrong shape, a vector with NaN or infinity, or a zero vector; its term is named.
        """
        language = language_code(language)
        if vectors.shape != (len(terms), self._dim):
            raise BadEmbeddings(
                f"{len(terms)} terms of language {language!r} came with vectors of shape {vectors.shape}, "
                f"not ({len(terms)}, {self._dim}); all embeddings of a store have as many dimensions"
            )
        rows = self._normalised(language, terms, vectors)
        kept = np.array([self._vocabulary.add(language, term) for term in terms], dtype=bool)
        self.n_duplicates += int(len(terms) - kept.sum())
        block = np.ascontiguousarray(rows[kept])
        self._open_file().write(block.data)
        self._hasher.update(block.data)
        if document_frequencies is not None:
            self._frequencies.append(np.asarray(document_frequencies, dtype=np.int32)[kept])
        return len(block)

    def _normalised(self, language: str, terms: Sequence[str], vectors: NDArray[Any]) -> NDArray[np.float32]:
        rows = vectors.astype(np.float64)
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        usable = np.isfinite(norms) & (norms > 0)
        if not usable.all():
            bad = int(np.argmin(usable))
            what = "a zero vector" if norms[bad] == 0 else "a vector with NaN or infinity in it"
            raise BadEmbeddings(f"the term {terms[bad]!r} of language {language!r} has {what}; leave the term out")
        rows /= norms[:, None]
        return rows.astype(np.float32)

    def commit(self, n_documents: Mapping[str, int] | None = None) -> None:
        """Finishes the store and puts it in its place.

        Args:
            n_documents: documents of the training text of each language, if document frequencies were given.

        Raises:
            BadEmbeddings: there are no terms, or document frequencies for some of them only.
            BadInput: the folder has come into being meanwhile.
        """
        n_terms = len(self._vocabulary)
        if not n_terms:
            raise BadEmbeddings("no term is left to write; see which were skipped, and check the file's language")
        counted = sum(len(block) for block in self._frequencies)
        if counted != (n_terms if n_documents is not None else 0):
            raise BadEmbeddings(
                f"document frequencies came for {counted} of {n_terms} terms, and n_documents is "
                f"{n_documents}; give both for all terms or for none"
            )
        folder, vectors = self._folder, self._open_file()
        if folder is None:
            raise BadEmbeddings("the writer is closed; open it again")
        vectors.seek(0)
        _write_header(vectors, n_terms, self._dim)
        _close(vectors)
        self._vectors = None
        arrays = dict(self._vocabulary.arrays())
        if n_documents is not None:
            arrays[_DOCUMENT_FREQUENCIES] = np.concatenate(self._frequencies)
        for name, values in arrays.items():
            with (folder / name).open("wb") as file:
                np.save(file, values, allow_pickle=False)
                _sync(file)
        with (folder / _META).open("wb") as file:
            file.write(json.dumps(self._meta(n_documents), ensure_ascii=False, indent=2).encode() + b"\n")
            _sync(file)
        _sync_folder(folder)
        self._put_in_place(folder)
        self._folder = None

    def _meta(self, n_documents: Mapping[str, int] | None) -> dict[str, Any]:
        hasher = self._hasher.copy()
        hasher.update(self._vocabulary.digest())
        return {
            "format": FORMAT,
            "version": hasher.hexdigest(),
            "tokenizer_version": TOKENIZER_VERSION,
            "dim": self._dim,
            "n_terms": len(self._vocabulary),
            "n_term_bytes": self._vocabulary.n_term_bytes,
            "languages": dict(self.counts),
            "n_documents": None if n_documents is None else dict(n_documents),
            "source": self._source,
        }

    def _put_in_place(self, folder: Path) -> None:
        """Renames the finished folder; an old store steps aside first and is removed last."""
        check_output(self._output, replace=self._replace)
        old = _sibling(self._output, "old")
        try:
            if self._output.exists():
                self._output.rename(old)
            folder.rename(self._output)
        except BaseException:
            if old.exists() and not self._output.exists():
                old.rename(self._output)
            raise
        _sync_folder(self._output.parent)
        shutil.rmtree(old, ignore_errors=True)

    def _open_file(self) -> BinaryIO:
        if self._vectors is None:
            raise BadEmbeddings("the writer is not open; use it in a with statement, and once")
        return self._vectors

    def _discard(self) -> None:
        if self._vectors is not None:
            self._vectors.close()
            self._vectors = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def check_output(output: Path, *, replace: bool) -> None:
    """Whether a store may be made at a path; call it before long work.

    Raises:
        BadInput: something is there and `replace` is not given, or it is not an embedding store.
    """
    if not output.exists():
        return
    if not replace:
        raise BadInput(f"{output} exists already; give --replace to put the new one in its place, or give another path")
    if not output.is_dir() or (any(output.iterdir()) and not (output / _META).is_file()):
        raise BadInput(f"{output} is not an embedding store, so it is not replaced; give another path")


def _reopen(path: Path, version: str) -> Embeddings:
    embeddings = Embeddings.open(path)
    if embeddings.version != version:
        raise VersionMismatch(
            f"the embeddings in {path} are now of version {embeddings.version}, not {version}; start the service again"
        )
    return embeddings


def _read_meta(path: Path) -> Mapping[str, Any]:
    cure = "make a store with `sinkrank embeddings train` or `sinkrank embeddings import`"
    if not path.exists():
        raise NotFound(f"there are no embeddings at {path}; {cure}")
    if not (path / _META).is_file():
        raise NotFound(f"{path} is not an embedding store (it has no {_META}); {cure}")
    try:
        meta = json.loads((path / _META).read_bytes())
    except ValueError as error:
        raise BadEmbeddings(f"{path / _META} is not JSON ({error}); import or train the embeddings again") from error
    if not isinstance(meta, dict) or "format" not in meta:
        raise NotFound(f"{path} is not an embedding store ({_META} has no format number); {cure}")
    found = (meta["format"], meta.get("tokenizer_version"))
    if found != (FORMAT, TOKENIZER_VERSION):
        raise VersionMismatch(
            f"the embeddings in {path} are of format {found[0]} and tokenizer {found[1]}, not {FORMAT} and "
            f"{TOKENIZER_VERSION}; import or train them again"
        )
    _check_meta(path, meta)
    return meta


def _check_meta(path: Path, meta: Mapping[str, Any]) -> None:
    wrong = [name for name in ("dim", "n_terms", "n_term_bytes") if not isinstance(meta.get(name), int)]
    wrong += [name for name in ("version",) if not isinstance(meta.get(name), str)]
    wrong += [name for name in ("languages",) if not isinstance(meta.get(name), dict)]
    wrong += [name for name in ("n_documents",) if not isinstance(meta.get(name, 0), dict | None)]
    if wrong:
        raise BadEmbeddings(f"{path / _META} has no proper {', '.join(wrong)}; import or train the embeddings again")


def _version_hasher(dim: int) -> blake2b:
    return blake2b(f"{FORMAT}:{dim}:".encode(), digest_size=8)


def _write_header(file: BinaryIO, n_terms: int, dim: int) -> None:
    """The header of `vectors.npy`; NumPy leaves room for the first axis to grow, so it can be rewritten."""
    np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (n_terms, dim)})


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _close(file: BinaryIO) -> None:
    _sync(file)
    file.close()


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # some file systems cannot, and the rename is whole all the same
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _sibling(output: Path, purpose: str) -> Path:
    """A hidden name beside a folder, so that moving it there is a rename within one file system."""
    return output.with_name(f".{output.name}.{purpose}-{uuid4().hex[:12]}")
