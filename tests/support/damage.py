"""Damages the files that a search reads, at random places, and looks at what comes of it.

A trial copies a folder, damages one file, and asks the same questions as before. What may come is the same answers, or
an error of Sinkrank's own; never other answers after the check, and never another exception.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from reranker.base.errors import SinkrankError
from reranker.embeddings import Embeddings, EmbeddingsWriter
from reranker.embeddings.hubness import HubnessSample
from reranker.stores.base.filters import Filters
from reranker.stores.embedded.file import FILE_NAME
from reranker.stores.embedded.store import EmbeddedStore
from reranker.stores.embedded.writable import WritableEmbeddedStore
from reranker.text.idf import DocumentFrequencies, IdfTable
from reranker.translation.groups import Translation, WordGroup
from tests.stores.samples import ALL, fill, make_document, query

_PAGE_BYTES = 4096

Outcome = Literal["same answers", "error at once", "error after the check"]

_WORDS = [first + second for first in "bcdfghklmnprst" for second in ("arn", "elt", "ond", "ush", "ivo", "app", "ock")]


@dataclass(frozen=True, slots=True)
class Damage:
    """A change of a few bytes of a file.

    Attributes:
        content: what stands at the place afterwards; None: the file ends there.
    """

    name: str
    place: int
    content: bytes | None

    def __str__(self) -> str:
        what = "cut off" if self.content is None else f"{len(self.content)} bytes replaced by {self.content[:16].hex()}"
        return f"{self.name} from byte {self.place}: {what}"

    def apply(self, folder: Path) -> None:
        with (folder / self.name).open("r+b") as file:
            file.seek(self.place)
            if self.content is None:
                file.truncate()
            else:
                file.write(self.content)


class Wrong(AssertionError):
    """Other answers without an error, or an exception that is not Sinkrank's."""


def damages(folder: Path, names: list[str], seed: int, count: int) -> Iterator[Damage]:
    """Bits flipped, up to 64 bytes replaced or zeroed, pages zeroed and ends cut off, at random places of the files in
    turn. Each changes the file."""
    chance = random.Random(seed)
    for number in range(count):
        name = names[number % len(names)]
        before = (folder / name).read_bytes()
        while True:
            damage = Damage(name, *_change(before, chance))
            if damage.content is None or before[damage.place :][: len(damage.content)] != damage.content:
                break
        yield damage


def _change(before: bytes, chance: random.Random) -> tuple[int, bytes | None]:
    place, kind = chance.randrange(len(before)), chance.choice(["bit", "bit", "bit", "bytes", "zeros", "page", "cut"])
    if kind == "bit":
        return place, bytes([before[place] ^ 1 << chance.randrange(8)])
    if kind == "cut":
        return place, None
    if kind == "page":
        place -= place % _PAGE_BYTES
    n_bytes = min(_PAGE_BYTES if kind == "page" else chance.randint(1, 64), len(before) - place)
    return place, chance.randbytes(n_bytes) if kind == "bytes" else bytes(n_bytes)


def make_store(folder: Path, n_documents: int = 300) -> None:
    """A small embedded store of two languages, with filters, idf and a hubness sample."""
    chance = random.Random(1)
    store = WritableEmbeddedStore(folder)
    documents = [
        make_document(
            f"doc-{number}",
            " ".join(chance.choices(_WORDS, k=40)),
            "en" if number % 3 else "fr",
            vector=[chance.gauss(0, 1) for _ in range(4)],
            title=" ".join(chance.choices(_WORDS, k=3)),
            metadata={"year": 1990 + number % 30, "kind": chance.choice(_WORDS[:5])},
        )
        for number in range(n_documents)
    ]
    fill(store, "docs", *documents)
    counts = DocumentFrequencies(n_documents, np.arange(50, dtype=np.int32), np.arange(1, 51, dtype=np.int32))
    store.save_idf("docs", IdfTable({"en": counts, "fr": counts}))
    store.save_hubness_sample("docs", HubnessSample("five-words", {"en": {7: documents[0].document.doc_id}}))
    store.close()


def store_answers(store: EmbeddedStore) -> Any:
    """What a store says to questions of every kind, as JSON can hold it."""

    def found(candidates: Any) -> list[Any]:
        return [
            (one.doc_id, one.language, one.title_key, one.bag.term_ids.tolist(), round(one.first_stage_score, 9))
            for one in candidates
        ]

    filtered = Filters.parse(["en"], {"year": {"gte": 1995, "lt": 2010}})
    kind = Filters.parse(None, {"kind": _WORDS[1]})
    groups = {"fr": [WordGroup("word", 1, (Translation(_WORDS[3], 1.0), Translation(_WORDS[9], 0.5)))]}
    idf = store.open("docs").idf().languages
    ids = [f"doc-{number}" for number in range(300)]
    documents = store.open("docs").documents(ids)
    answers = [
        store.indices(),
        store.open("docs").languages(),
        store.open("docs").count(),
        found(store.open("docs").knn(query(1, 2, 3, 4), 50, ALL)),
        found(store.open("docs").knn(query(1, -2, 3, 4), 50, filtered)),
        *(found(store.open("docs").bm25(word, 50, ALL)) for word in _WORDS[::7]),
        found(store.open("docs").bm25(" ".join(_WORDS[:4]), 50, kind)),
        found(store.open("docs").translated(groups, 50, ALL)),
        {name: (one.n_documents, one.term_ids.tolist(), one.counts.tolist()) for name, one in idf.items()},
        store.open("docs").hubness_sample().as_json(),
        [(key, one.text, one.url, dict(one.metadata)) for key, one in sorted(documents.items())],
    ]
    return json.loads(json.dumps(answers))


def try_store(folder: Path, damage: Damage, right: Any) -> Outcome:
    """Asks a damaged copy before and after the check of its file.

    Raises:
        Wrong: with what came.
    """
    with tempfile.TemporaryDirectory() as copied, closing(EmbeddedStore(Path(copied, "store"))) as store:
        shutil.copytree(folder, Path(copied, "store"))
        damage.apply(Path(copied, "store"))
        before = _tried(lambda: store_answers(store), damage)
        check = _tried(lambda: list(store.checked_steps()), damage)
        after = _tried(lambda: store_answers(store), damage)
    if isinstance(after, SinkrankError):
        return "error at once" if isinstance(before, SinkrankError) else "error after the check"
    if after != right or before != right or isinstance(check, SinkrankError):
        raise Wrong(f"{damage}: {'other answers' if after != right else 'an error, and then answers'}; check: {check}")
    return "same answers"


def make_embeddings(folder: Path, n_terms: int = 3_000, dim: int = 40) -> None:
    """Embeddings of two languages with document frequencies."""
    generator = np.random.default_rng(1)
    with EmbeddingsWriter(folder, dim=dim, source="damage") as writer:
        for language in ("en", "fr"):
            terms = [f"{_WORDS[number % 98]}{_WORDS[number // 98 % 98]}{language}" for number in range(n_terms // 2)]
            writer.append(
                language, terms, generator.standard_normal((len(terms), dim)), np.arange(len(terms), dtype=np.int32)
            )
        writer.commit({"en": n_terms, "fr": n_terms})


def embeddings_answers(embeddings: Embeddings) -> Any:
    """What embeddings say to questions of every kind."""
    words = [embeddings.term(term_id)[1] for term_id in range(0, embeddings.n_terms, 61)]
    bags = [embeddings.bag(" ".join(words), language) for language in ("en", "fr")]
    misspelled = [embeddings.stand_ins("en", f"{word[:3]}x{word[3:]}") for word in words]
    idf = embeddings.idf.languages
    return [
        embeddings.version,
        list(embeddings.languages),
        [embeddings.term_id("fr", word) for word in words],
        misspelled,
        [(bag.term_ids.tolist(), bag.counts.tolist()) for bag in bags],
        np.asarray(embeddings.vectors).tobytes().hex(),
        {name: (one.n_documents, one.term_ids.tolist(), one.counts.tolist()) for name, one in idf.items()},
        embeddings.nearest(words[0], "en", None, 20),
    ]


def try_embeddings(folder: Path, damage: Damage, right: Any) -> Outcome:
    """As `try_store`; embeddings are opened and checked before they are asked."""
    with tempfile.TemporaryDirectory() as copied:
        shutil.copytree(folder, Path(copied, "embeddings"))
        damage.apply(Path(copied, "embeddings"))
        opened = _tried(lambda: Embeddings.open(Path(copied, "embeddings")), damage)
        if isinstance(opened, SinkrankError):
            return "error at once"
        before = _tried(lambda: embeddings_answers(opened), damage)
        check = _tried(lambda: list(opened.checked_blocks()), damage)
    if isinstance(check, SinkrankError):
        return "error after the check"
    if before != right:
        raise Wrong(f"{damage}: other answers")
    return "same answers"


def store_outcomes(folder: Path, seed: int, count: int) -> Iterator[Outcome | Wrong]:
    """What came of each damage of the store's file; `folder` is made."""
    make_store(folder)
    with closing(EmbeddedStore(folder)) as store:
        right = store_answers(store)
    return _outcomes(folder, [FILE_NAME], seed, count, partial(try_store, right=right))


def embeddings_outcomes(folder: Path, seed: int, count: int) -> Iterator[Outcome | Wrong]:
    """What came of damages of each file of embeddings in turn; `folder` is made."""
    make_embeddings(folder)
    right = embeddings_answers(Embeddings.open(folder))
    names = sorted(path.name for path in folder.iterdir())
    return _outcomes(folder, names, seed, count, partial(try_embeddings, right=right))


def _outcomes(
    folder: Path, names: list[str], seed: int, count: int, one: Callable[[Path, Damage], Outcome]
) -> Iterator[Outcome | Wrong]:
    for damage in damages(folder, names, seed, count):
        try:
            yield one(folder, damage)
        except Wrong as wrong:
            yield wrong


def _tried(ask: Callable[[], Any], damage: Damage) -> Any:
    """What was answered, or Sinkrank's error."""
    try:
        return ask()
    except SinkrankError as error:
        return error
    except Exception as error:
        raise Wrong(f"{damage}: {type(error).__name__}: {error}") from error
