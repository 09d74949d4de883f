"""Writes an embedding store block by block. The store appears at its path complete or not at all."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import BadEmbeddings
from reranker.base.temporary import temporary_folder
from reranker.embeddings.folder import (
    DOCUMENT_FREQUENCIES,
    FORMAT,
    META,
    VECTORS,
    check_output,
    sibling,
    sync,
    sync_folder,
    version_hasher,
)
from reranker.embeddings.manifest import describe, digest_of_meta
from reranker.embeddings.query_encoder import QueryEncoderFiles
from reranker.embeddings.spelling import SPELLINGS, spelling_entries
from reranker.embeddings.vocabulary import LANGUAGES, SLOTS, TERM_BYTES, TERM_OFFSETS, Vocabulary, VocabularyBuilder
from reranker.text.languages import language_code
from reranker.text.tokens import WORDS_VERSION

# Of renameat2(2).
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


class EmbeddingsWriter:
    """Writes an embedding store block by block. Nothing appears at its path until `commit`.

        with EmbeddingsWriter(path, dim=300, source="wiki.fr.vec") as writer:
            writer.append("fr", ["chat", "chien"], vectors)
            writer.commit()

    Leaving the `with` block without `commit`, also by an exception or Ctrl-C, deletes everything that was written. What
    a killed process has written is deleted by the next one that writes to the path.

    Attributes:
        counts: number of terms of each language so far.
    """

    def __init__(
        self,
        output: Path,
        *,
        dim: int,
        source: object,
        replace: bool = False,
        query_encoders: Sequence[QueryEncoderFiles] = (),
        mapped_languages: Sequence[str] = (),
    ) -> None:
        """
        Args:
            output: the folder to create.
            source: where the embeddings come from, for `meta.json`; any JSON value.
            replace: replace a store at `output`; it is deleted only after the new one is in its place.
            query_encoders: sentence encoders that encode queries, each in other languages.
            mapped_languages: languages that were mapped into the space of the others (`Embeddings`).

        Raises:
            BadInput: the folder exists and `replace` is false or it is not an embedding store.
        """
        self._output = Path(output).resolve()
        self._replace = replace
        check_output(self._output, replace=replace)
        if dim < 1:
            raise BadEmbeddings(f"dim is {dim}; an embedding has at least 1 dimension")
        self._dim = dim
        self._source = source
        self._query_encoders = query_encoders
        self._mapped_languages = mapped_languages
        self._vocabulary = VocabularyBuilder()
        self._hasher = version_hasher(dim)
        self._frequencies: list[NDArray[np.int32]] = []
        self._held = ExitStack()
        self._folder: Path | None = None
        self._vectors: BinaryIO | None = None

    @property
    def counts(self) -> Mapping[str, int]:
        return self._vocabulary.counts

    def __enter__(self) -> Self:
        self._output.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as held:
            temporary = held.enter_context(temporary_folder(f".{self._output.name}.partial-", self._output.parent))
            self._folder = temporary / "store"
            self._folder.mkdir()
            self._vectors = held.enter_context((self._folder / VECTORS).open("wb"))
            _write_header(self._vectors, 0, self._dim)
            self._held = held.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._vectors = None
        self._held.close()

    def append(
        self,
        language: str,
        terms: Sequence[str],
        vectors: NDArray[np.floating[Any]],
        document_frequencies: NDArray[np.integer[Any]] | None = None,
    ) -> None:
        """Adds terms of one language, the most frequent first. One that the language has already is ignored.

        Args:
            terms: k normalised terms.
            vectors: (k, dim), not zero; normalised here.
            document_frequencies: (k,) documents of the training text with each term; for all blocks or none.

        Raises:
            BadEmbeddings: a wrong shape; or a zero vector or one with NaN or infinity, whose term is named.
        """
        language = language_code(language)
        if vectors.shape != (len(terms), self._dim):
            raise BadEmbeddings(
                f"{len(terms)} terms of language {language!r} came with vectors of shape {vectors.shape}, "
                f"not ({len(terms)}, {self._dim}); all embeddings of a store have the same dimension"
            )
        rows = self._normalised(language, terms, vectors)
        is_new = np.array([self._vocabulary.add(language, term) for term in terms], dtype=bool)
        block = rows if is_new.all() else rows[is_new]
        self._open_file().write(block.data)
        self._hasher.update(block.data)
        if document_frequencies is not None:
            self._frequencies.append(np.asarray(document_frequencies, dtype=np.int32)[is_new])

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
        """Finishes the store and moves it to its path.

        Args:
            n_documents: number of documents of the training text of each language, if `append` got document
                frequencies.

        Raises:
            BadEmbeddings: there are no terms, or only some have document frequencies.
            BadInput: the folder exists by now.
        """
        n_terms = len(self._vocabulary)
        if not n_terms:
            raise BadEmbeddings(
                "there are no terms to write; see which were skipped, and check the language of the file"
            )
        counted = sum(len(block) for block in self._frequencies)
        if counted != (n_terms if n_documents is not None else 0):
            raise BadEmbeddings(
                f"document frequencies came for {counted} of {n_terms} terms, and n_documents is "
                f"{n_documents}; give both for all terms or for none"
            )
        folder, vectors = self._folder, self._open_file()
        assert folder is not None  # noqa: S101 - it is made when the file is
        vectors.seek(0)
        _write_header(vectors, n_terms, self._dim)
        sync(vectors)
        vectors.close()
        self._vectors = None
        arrays = dict(self._vocabulary.arrays())
        written = (arrays[name] for name in (TERM_BYTES, TERM_OFFSETS, LANGUAGES, SLOTS))
        vocabulary = Vocabulary(list(self.counts), *written)
        arrays[SPELLINGS] = spelling_entries(vocabulary)
        self._hasher.update(vocabulary.digest())
        if n_documents is not None:
            arrays[DOCUMENT_FREQUENCIES] = np.concatenate(self._frequencies)
        for name, values in arrays.items():
            with (folder / name).open("wb") as file:
                np.save(file, values, allow_pickle=False)
                sync(file)
        meta = self._meta(n_documents)
        meta["files"] = describe(folder, [VECTORS, *arrays, *self._write_query_encoders(folder)])
        meta["digest"] = digest_of_meta(meta)
        with (folder / META).open("wb") as file:
            file.write(json.dumps(meta, ensure_ascii=False, indent=2).encode() + b"\n")
            sync(file)
        sync_folder(folder)
        put_in_place(folder, self._output, replace=self._replace)

    def _write_query_encoders(self, folder: Path) -> Iterator[str]:
        """Their files, by name, each when it is written."""
        for name, content in (file for encoder in self._query_encoders for file in encoder.files()):
            with (folder / name).open("wb") as file:
                file.write(content)
                sync(file)
            yield name

    def _meta(self, n_documents: Mapping[str, int] | None) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": self._hasher.hexdigest(),
            "tokenizer_version": WORDS_VERSION,
            "dim": self._dim,
            "n_terms": len(self._vocabulary),
            "n_term_bytes": self._vocabulary.n_term_bytes,
            "languages": dict(self.counts),
            "n_documents": None if n_documents is None else dict(n_documents),
            "source": self._source,
            "mapped_languages": list(self._mapped_languages),
            "query_encoders": [encoder.model.meta() for encoder in self._query_encoders],
        }

    def _open_file(self) -> BinaryIO:
        if self._vectors is None:
            raise BadEmbeddings("the writer is not open; use it once, in a with statement")
        return self._vectors


def put_in_place(folder: Path, output: Path, *, replace: bool) -> None:
    """Moves the folder of a finished store to its path, in the same file system. An old store is deleted afterwards.
    Where the system can swap two folders in one step, there is a store at the path at each moment. A symbolic link is
    followed.

    Raises:
        BadInput: as `check_output`.
    """
    output = output.resolve()
    check_output(output, replace=replace)
    if output.exists() and _swap(folder, output):
        old = folder
    else:
        old = sibling(output, "old")
        try:
            if output.exists():
                output.rename(old)
            folder.rename(output)
        except BaseException:
            if old.exists() and not output.exists():
                old.rename(output)
            raise
    sync_folder(output.parent)
    shutil.rmtree(old, ignore_errors=True)


def _swap(one: Path, other: Path) -> bool:
    """Gives each folder the other's path, in one step. False where the system or the file system cannot."""
    try:
        rename = ctypes.CDLL(None).renameat2  # Linux, from glibc 2.28 on; Python does not offer it
    except (AttributeError, OSError, TypeError):
        return False
    return bool(rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)


def _write_header(file: BinaryIO, n_terms: int, dim: int) -> None:
    """Writes the header of `vectors.npy`. NumPy leaves room for a larger first axis, so it can be rewritten later."""
    np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (n_terms, dim)})
