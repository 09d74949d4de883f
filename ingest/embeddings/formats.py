"""Detects the format of published embeddings files.

text              a word and its numbers on each line; word2vec, fastText (`.vec`), MUSE and Numberbatch have a
                  first line `<rows> <dim>`, GloVe does not
word2vec-binary   `<rows> <dim>` and a newline, then each word, a space, dim little-endian float32, and in some
                  files a newline
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ingest.files.lines import DAMAGE, open_file
from reranker.base.errors import BadEmbeddings

_WITH_HEADER, _WITHOUT_HEADER, BINARY = "text with header", "text without header", "binary"
MAX_DIM = 65_536
_SAMPLE_BYTES = 1 << 20
MAX_WORD_BYTES = 1 << 12
# What is in the cache is not fetched.
FETCH_AGAIN = "delete the file and fetch it again"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# A fastText model, `.bin`, begins with this number (fastText, src/fasttext.cc).
_FASTTEXT_MODEL_MAGIC = (793_712_314).to_bytes(4, "little")


@dataclass(frozen=True, slots=True)
class VectorFormat:
    """The format of a file.

    Attributes:
        kind: text with or without a header, or binary.
        dim: numbers in a row.
        n_rows: number of rows by the header; None without a header.
    """

    kind: str
    dim: int
    n_rows: int | None


def inspect(path: Path) -> VectorFormat:
    """Detects the format of a file from its first bytes.

    Raises:
        BadInput: the file cannot be opened.
        BadEmbeddings: it has an unknown format.
    """
    sample = _sample(path)
    if not sample:
        raise BadEmbeddings(f"{path} is empty; {FETCH_AGAIN}")
    if sample.startswith(_FASTTEXT_MODEL_MAGIC):
        raise BadEmbeddings(f"{path} is a fastText model; give the .vec file that is published beside it")
    first, _, rest = sample.removeprefix(BYTE_ORDER_MARK).partition(b"\n")
    header = _header(first)
    if header is None:
        return VectorFormat(_WITHOUT_HEADER, _checked_dim(path, _n_numbers(first)), None)
    n_rows, dim = header
    return VectorFormat(_kind(dim, rest), _checked_dim(path, dim), n_rows)


def _sample(path: Path) -> bytes:
    """The first bytes; fewer if the file ends or is damaged before. (Reading it later gives an error with the line.)

    Raises:
        BadEmbeddings: not even one complete line can be read.
    """
    found = b""
    with open_file(path) as file:
        try:
            while len(found) < _SAMPLE_BYTES and (part := file.read1(_SAMPLE_BYTES - len(found))):
                found += part
        except DAMAGE as error:
            if b"\n" not in found:
                raise damaged(path, error) from error
    return found


def damaged(path: Path, error: Exception) -> BadEmbeddings:
    """The error of a file that cannot be read to its end."""
    return BadEmbeddings(f"{path}: the file is truncated or damaged ({error}); {FETCH_AGAIN}")


def _header(line: bytes) -> tuple[int, int] | None:
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        return None
    return int(fields[0]), int(fields[1])


def _kind(dim: int, rest: bytes) -> str:
    """
    Args:
        rest: what follows the header.
    """
    if _n_numbers(rest.partition(b"\n")[0]) >= dim:
        return _WITH_HEADER
    # Only bytes that no text contains mean binary, so that damaged text is reported with its line.
    return BINARY if any(byte < 9 or 13 < byte < 32 for byte in rest[:MAX_WORD_BYTES]) else _WITH_HEADER


def _n_numbers(line: bytes) -> int:
    """The number of numbers at the end of a line, after at least one word."""
    count = 0
    for field in reversed(line.split()[1:]):
        if not is_number(field):
            break
        count += 1
    return count


def is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _checked_dim(path: Path, dim: int) -> int:
    if not 1 <= dim <= MAX_DIM:
        raise BadEmbeddings(
            f"{path}, line 1: not an embedding of 1 to {MAX_DIM:,} dimensions ({dim} numbers); give word2vec text or "
            "binary, GloVe, fastText .vec, MUSE or Numberbatch, plain or compressed"
        )
    return dim


def quoted(content: bytes) -> str:
    text = content[:40].decode(errors="replace")
    return repr(text + "…" if len(content) > len(text) else text)
