"""The embeddings of the sample texts, as the library makes them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ingest.embeddings import samples
from ingest.embeddings.units import Unit
from reranker.embeddings import Embeddings
from reranker.embeddings.writer import EmbeddingsWriter

pytestmark = pytest.mark.slow


def test_sample_embeddings_that_another_process_makes_meanwhile_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, units = tmp_path / "embeddings", samples._units

    def read_slowly() -> Iterator[Unit]:
        with EmbeddingsWriter(path, dim=2, source=samples._SOURCE) as writer:
            writer.append("en", ["cat"], np.eye(1, 2))
            writer.commit()
        return units()

    monkeypatch.setattr(samples, "_units", read_slowly)
    assert samples.sample_embeddings(path) == path
    assert Embeddings.open(path).n_terms == 1
