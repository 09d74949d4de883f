"""The part of published vectors: which are worth fetching for some languages, and their import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ingest.embeddings.catalogue import PackageFile, Published, best_published
from ingest.embeddings.importing import import_embeddings
from ingest.embeddings.preparing.parts import PUBLISHED, Estimate, Part
from ingest.embeddings.preparing.texts import Texts
from ingest.embeddings.published import fetch_published
from ingest.embeddings.summary import Summary
from ingest.progress import Progress

# More is fetched only when somebody asks for it by name: minutes on a good line, and an hour on many.
_MAX_DOWNLOAD_BYTES = 1_000_000_000
# Of each language, the most frequent first.
_MAX_WORDS = 400_000
_WORDS_A_SECOND = 30_000
_BYTES_A_SECOND = 10_000_000


@dataclass(frozen=True, slots=True)
class PublishedVectors:
    """Vectors that others have published."""

    entry: Published
    languages: Sequence[str]
    folder: Path
    name: str = PUBLISHED
    # Twice as much, and the collections of docs/embeddings.md lose: it blurs what the other parts know.
    weight: float = 0.2

    @property
    def description(self) -> str:
        return f"published vectors {self.entry.name} ({self.entry.licence}) from {self.entry.source}"

    @property
    def key(self) -> str:
        return f"{self.entry.name} {' '.join(self.languages)}"

    def estimate(self, texts: Texts) -> Estimate:
        n_bytes = 0 if is_fetched(self.entry, self.languages, self.folder) else self.entry.n_bytes or 0
        n_words = min(self.entry.n_words or _MAX_WORDS, _MAX_WORDS) * len(self.languages)
        return Estimate(n_words / _WORDS_A_SECOND + n_bytes / _BYTES_A_SECOND, n_bytes)

    def make(self, texts: Texts, output: Path, notes: list[str], progress: Progress) -> Summary:
        sources = fetch_published(self.entry, self.folder, self.languages, progress)
        summary = import_embeddings(sources, output, max_terms_per_language=_MAX_WORDS, progress=progress)
        # Words that no text holds are in every published file: nobody needs to know how many.
        summary.skipped.clear()
        return summary


def published_parts(languages: Sequence[str], home: Path) -> tuple[list[Part], str]:
    """What can be fetched for these languages in a short time, or is there already, the best first; and why there is
    nothing, where there is nothing."""
    folder = home / "vectors"
    entries = best_published(languages)
    parts: list[Part] = [
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
    """Whether all files of these languages are there."""
    origin = entry.origin
    if isinstance(origin, PackageFile):
        return (folder / f"{origin.package.name}-{origin.package.version}.bin").is_file()
    chosen = languages if origin.has_one_file_a_language else [""]
    urls = [origin.url.format(language=language) for language in chosen]
    return all((folder / url.rpartition("/")[2]).is_file() for url in urls)
