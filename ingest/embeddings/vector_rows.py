"""Reads published embeddings files, text or binary, as a stream of blocks of vectors.

A caller says for each word which term it is, before its numbers are parsed, which takes nearly all of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ingest.embeddings.formats import BINARY, FETCH_AGAIN, MAX_WORD_BYTES, VectorFormat, damaged, is_number, quoted
from ingest.embeddings.word_frequencies import Term
from ingest.files.lines import DAMAGE, lines, open_file
from reranker.base.errors import BadEmbeddings

_BLOCK_ROWS = 2_048

TermOf = Callable[[bytes, str], Term | None]
"""`term_of(word, place)`: the term of a row, or None to leave its vector out. Called once for each row, in order."""

_Row = tuple[str, bytes, bytes]
"""The place of a row, its word and its numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The next rows of a file.

    Attributes:
        terms: the n terms, in order.
        vectors: (n, dim) float32; finite and not zero.
        n_rows: number of rows of the file read so far.
    """

    terms: list[Term]
    vectors: NDArray[np.float32]
    n_rows: int


def read_blocks(path: Path, file_format: VectorFormat, term_of: TermOf) -> Iterator[Block]:
    """The terms of a file and their vectors, one block at a time.

    Raises:
        BadInput: the file cannot be opened.
        BadEmbeddings: a row cannot be read; the message names its line (in a binary file its number) and the cure.
    """
    is_binary = file_format.kind == BINARY
    terms: list[Term] = []
    numbers: list[bytes] = []
    places: list[str] = []
    n_rows = 0
    with open_file(path) as file:
        rows = _binary_rows(file, path, file_format) if is_binary else _text_rows(file, path, file_format)
        for n_rows, (place, word, content) in enumerate(rows, start=1):
            if (term := term_of(word, place)) is not None:
                terms.append(term)
                numbers.append(content)
                places.append(f"{place} ({quoted(word)})" if is_binary else place)
            if n_rows % _BLOCK_ROWS == 0:
                yield Block(terms, _vectors(numbers, places, file_format), n_rows)
                terms, numbers, places = [], [], []
        yield Block(terms, _vectors(numbers, places, file_format), n_rows)


def _vectors(numbers: list[bytes], places: list[str], file_format: VectorFormat) -> NDArray[np.float32]:
    """(n, dim) float32 from the numbers of n rows."""
    if file_format.kind == BINARY:
        vectors = (
            np.frombuffer(b"".join(numbers), dtype="<f4").reshape(len(numbers), file_format.dim).astype(np.float32)
        )
    else:
        vectors = _parsed(numbers, places, file_format.dim)
    _check_usable(vectors, places)
    return vectors


def _text_rows(file: BufferedReader, path: Path, file_format: VectorFormat) -> Iterator[_Row]:
    n_rows = 0
    empty_line = 0
    for line_number, line, error in lines(file):
        place = f"{path}, line {line_number}"
        if error is not None:
            raise BadEmbeddings(f"{place}: {error}")
        if line_number == 1 and file_format.n_rows is not None:
            continue
        line = line.rstrip()
        if not line or empty_line:
            if line:
                raise BadEmbeddings(f"{path}, line {empty_line}: the line is empty; remove it, or {FETCH_AGAIN}")
            empty_line = line_number
            continue
        n_rows += 1
        if file_format.n_rows is not None and n_rows > file_format.n_rows:
            raise BadEmbeddings(f"{place}: {_too_many(file_format.n_rows)}")
        yield place, *_split(line, file_format.dim, place)
    if file_format.n_rows is not None and n_rows < file_format.n_rows:
        raise BadEmbeddings(f"{path}, after row {n_rows:,}: {_too_few(n_rows, file_format.n_rows)}")


def _too_many(n_promised: int) -> str:
    return f"the header says {n_promised:,} rows, but there are more; correct the header, or {FETCH_AGAIN}"


def _too_few(n_rows: int, n_promised: int) -> str:
    return f"the header says {n_promised:,} rows, but there are {n_rows:,}: the file is truncated; {FETCH_AGAIN}"


def _split(line: bytes, dim: int, place: str) -> tuple[bytes, bytes]:
    """The word of a line and its numbers. The word may contain spaces, as `. . .` in GloVe."""
    if line.count(b" ") == dim:
        word, _, rest = line.partition(b" ")
        if word:
            return word, rest
    fields = line.split()
    n_words = len(fields) - dim
    if n_words == 0 and line[:1].isspace():
        return b"", line  # the word is a blank
    # One number too many means a damaged row, not a word that contains a number.
    if n_words < 1 or (n_words > 1 and all(is_number(field) for field in fields[1:n_words])):
        raise BadEmbeddings(
            f"{place}: {quoted(line)} has {len(fields) - 1} numbers, not {dim} as in the first row or the header; "
            f"correct or remove the line, or {FETCH_AGAIN}"
        )
    return b" ".join(fields[:n_words]), b" ".join(fields[n_words:])


def _parsed(numbers: list[bytes], places: list[str], dim: int) -> NDArray[np.float32]:
    """(n, dim) float32 from n lines of numbers."""
    if not numbers:
        return np.empty((0, dim), np.float32)
    try:
        vectors = np.loadtxt(numbers, dtype=np.float32, comments=None, ndmin=2)
    except ValueError:
        vectors = np.empty((0, 0), dtype=np.float32)
    if vectors.shape != (len(numbers), dim):
        raise BadEmbeddings(_broken(numbers, places, dim))
    return vectors


def _broken(numbers: list[bytes], places: list[str], dim: int) -> str:
    """The error of the line that made its block fail."""
    for line, place in zip(numbers, places, strict=True):
        wrong = [field for field in line.split() if not is_number(field)]
        if wrong:
            return f"{place}: {quoted(wrong[0])} is not a number; correct or remove the line, or {FETCH_AGAIN}"
    return f"{places[0]} and the lines after it do not have {dim} numbers each; {FETCH_AGAIN}"


def _check_usable(vectors: NDArray[np.float32], places: list[str]) -> None:
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        raise BadEmbeddings(f"{places[int(np.argmin(finite))]}: the vector contains NaN or infinity; remove the row")
    zero = ~vectors.any(axis=1)
    if zero.any():
        raise BadEmbeddings(
            f"{places[int(np.argmax(zero))]}: the vector is all zeros, so it has no direction; remove the row"
        )


def _binary_rows(file: BufferedReader, path: Path, file_format: VectorFormat) -> Iterator[_Row]:
    n_promised = file_format.n_rows or 0
    try:
        file.readline()
        for number in range(1, n_promised + 1):
            word, vector = _word(file), file.read(4 * file_format.dim)
            if len(vector) < 4 * file_format.dim:
                raise BadEmbeddings(f"{path}, word {number}: {_too_few(number - 1, n_promised)}")
            if len(word) > MAX_WORD_BYTES:
                raise BadEmbeddings(
                    f"{path}, word {number}: no word of at most {MAX_WORD_BYTES} bytes, so the file is damaged or not "
                    f"a word2vec binary of {file_format.dim} dimensions; {FETCH_AGAIN}"
                )
            # Some programs write a newline after each vector, before the next word.
            yield f"{path}, word {number}", word.lstrip(b"\n"), vector
        if file.read(MAX_WORD_BYTES).strip():
            raise BadEmbeddings(f"{path}, after word {n_promised}: {_too_many(n_promised)}")
    except DAMAGE as error:
        raise damaged(path, error) from error


def _word(file: BufferedReader) -> bytes:
    """The bytes before the next space; more than `MAX_WORD_BYTES` if there is none so far."""
    word = bytearray()
    while len(word) <= MAX_WORD_BYTES and (byte := file.read(1)) not in (b" ", b""):
        word += byte
    return bytes(word)
