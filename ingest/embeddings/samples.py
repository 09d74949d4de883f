"""Short parallel texts that come with Sinkrank, and embeddings trained on them, for trying things out.

They were written for Sinkrank, sentence by sentence, in English, French and German, with words that recur in several
texts. They show how things work. They are too few and too simple to show how well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ingest.embeddings.training import open_made, train
from ingest.embeddings.units import Unit
from reranker.base.errors import BadInput

LANGUAGES = ("en", "fr", "de")

_FOLDER = Path(__file__).parent / "sample_texts"
_SOURCE = {"sample": "texts", "version": 1}


class SampleText(NamedTuple):
    """A text in one language. Texts of the same group are translations of each other, sentence by sentence."""

    group: str
    language: str
    title: str
    sentences: tuple[str, ...]


def sample_texts() -> Iterator[SampleText]:
    """All texts: 69 in each language."""
    for language in LANGUAGES:
        with (_FOLDER / f"{language}.jsonl").open(encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                yield SampleText(row["group"], language, row["title"], tuple(row["sentences"]))


def sample_embeddings(path: str | Path) -> Path:
    """Trains embeddings on the sample texts and writes them to the path, unless they exist. Takes some seconds.

    Raises:
        BadInput: something else is at the path.
    """
    output = Path(path)
    if output.exists():
        if open_made(output, _SOURCE) is None:
            raise BadInput(f"{output} exists and is not the sample embeddings; give another path")
        return output
    try:
        train(_units(), output, source=_SOURCE)
    except (BadInput, OSError):
        if open_made(output, _SOURCE) is None:  # else another process has made them meanwhile
            raise
    return output


def _units() -> Iterator[Unit]:
    for text in sample_texts():
        for number, sentence in enumerate((text.title, *text.sentences)):
            group = f"{text.group}#{number}"
            yield Unit(group, text.language, sentence, text.group)
