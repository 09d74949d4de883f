"""The part of published vectors: chooses which to fetch for given languages, and imports them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ingest.embeddings.catalogue import Published, best_published
from ingest.embeddings.importing import import_embeddings
from ingest.embeddings.preparing.parts import PUBLISHED, EmbeddingsPart, Estimate
from ingest.embeddings.preparing.texts import Texts
from ingest.embeddings.published import fetch_published
from ingest.embeddings.summary import EmbeddingsSummary
from ingest.progress import Progress

# Larger files are fetched only by name, since they take minutes on a fast line and an hour on a slow one.
_MAX_DOWNLOAD_BYTES = 1_000_000_000
# Of each language, the most frequent ones.
_MAX_WORDS = 400_000
_WORDS_A_SECOND = 30_000
_BYTES_A_SECOND = 10_000_000


@dataclass(frozen=True, slots=True)
class PublishedVectors:
    """Published vectors."""

    entry: Published
    languages: Sequence[str]
    folder: Path
    name: str = PUBLISHED
    # With twice the weight judged collections lose quality.
    weight: float = 0.2

    @property
    def description(self) -> str:
        return f"published vectors {self.entry.name} ({self.entry.licence}) from {self.entry.source}"

    def estimate(self, texts: Texts) -> Estimate:
        n_bytes = 0 if is_fetched(self.entry, self.languages, self.folder) else self.entry.n_bytes or 0
        n_words = min(self.entry.n_words or _MAX_WORDS, _MAX_WORDS) * len(self.languages)
        return Estimate(n_words / _WORDS_A_SECOND + n_bytes / _BYTES_A_SECOND, n_bytes)

    def make(self, texts: Texts, output: Path, notes: list[str], progress: Progress) -> EmbeddingsSummary:
        sources = fetch_published(self.entry, self.folder, self.languages, progress)
        summary = import_embeddings(sources, output, max_terms_per_language=_MAX_WORDS, progress=progress)
        # Every published file has entries that no text contains; their number does not matter to the user.
        summary.skipped.clear()
        return summary


def published_parts(languages: Sequence[str], home: Path) -> tuple[list[EmbeddingsPart], str]:
    """Published vectors of these languages that are fetched already or are quick to fetch, the best first. If there are
    none, the text says why."""
    folder = home / "vectors"
    entries = best_published(languages)
    parts: list[EmbeddingsPart] = [
        PublishedVectors(entry, languages, folder)
        for entry in entries
        if is_fetched(entry, languages, folder) or (entry.n_bytes or _MAX_DOWNLOAD_BYTES + 1) <= _MAX_DOWNLOAD_BYTES
    ]
    codes = ",".join(languages)
    if parts:
        return parts, ""
    if not entries:
        return [], f"no published vectors in the catalogue have {codes} in one space"
    best = entries[0].name
    return [], (
        f"{best} has {codes}, but takes long to fetch; run `sinkrank embeddings fetch {best} --lang {codes}` first, "
        "and it is used"
    )


def is_fetched(entry: Published, languages: Sequence[str], folder: Path) -> bool:
    """Whether all files for these languages are in the folder."""
    return all((folder / name).is_file() for name in entry.file_names(languages))
