"""Makes the collection: `documents.jsonl`, ordered by a hash, so that the first 10^4 lines are a sample of all;
`queries.jsonl`, titles of documents that are left out; `aligned.jsonl`, translations that train the embeddings; and
`collection.json`, a description of the collection.

    python -m benchmarks.scale collect --folder FOLDER
"""

from __future__ import annotations

import json
import mmap
import multiprocessing
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.scale.packages import ENGLISH, PACKAGES, Debian
from benchmarks.scale.passages import Page, Passages, digest
from benchmarks.scale.readers import read_descriptions, read_package

N_QUERIES = 300
# Number of groups of translated descriptions for training, besides LibreOffice's help.
N_DESCRIPTIONS = 15_000
_WORDS_A_QUERY = (2, 12)
_WORKERS = 2


def collect(folder: Path, n_documents: int) -> dict[str, Any]:
    """Fetches missing packages into the folder, and writes the four files.

    Raises:
        SystemExit: apt-get fails.
    """
    debian = Debian(folder)
    debian.fetch()
    passages, counts = Passages(), Counter[tuple[str, str]]()
    aligned: dict[str, dict[str, str]] = defaultdict(dict)
    unordered = folder / "unordered.jsonl"
    places: list[tuple[bytes, int, int]] = []
    with unordered.open("wb") as file:
        for page in _pages(debian):
            _keep_aligned(page, aligned)
            for passage in passages.of(page):
                line = json.dumps(passage.row(), ensure_ascii=False).encode() + b"\n"
                places.append((digest(passage.doc_id), file.tell(), len(line)))
                file.write(line)
    places.sort()
    with unordered.open("rb") as found, mmap.mmap(found.fileno(), 0, access=mmap.ACCESS_READ) as lines:
        n_queries = _write_queries(folder / "queries.jsonl", lines, places)
        with (folder / "documents.jsonl").open("wb") as documents:
            for _, start, length in places[n_queries : n_queries + n_documents]:
                line = lines[start : start + length]
                documents.write(line)
                row = json.loads(line)
                counts[row["source"], row["language"]] += 1
    unordered.unlink()
    n_groups = _write_aligned(folder / "aligned.jsonl", aligned)
    made = _described(counts) | {"found": len(places), "groups": n_groups}
    (folder / "collection.json").write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return made


def _pages(debian: Debian) -> Iterator[Page]:
    """Yields the English pages first, since paragraphs that are in them are not translated."""
    yield from read_descriptions(debian.descriptions())
    # Packages with several languages are parsed once, and English ones come before the others anyway.
    with multiprocessing.Pool(_WORKERS) as pool:
        for pages in pool.imap(read_package, [debian.package(name) for name in (*ENGLISH, *PACKAGES[len(ENGLISH) :])]):
            yield from sorted(pages, key=lambda page: page.language != "en")


def _keep_aligned(page: Page, aligned: dict[str, dict[str, str]]) -> None:
    """Descriptions of a package, and pages of LibreOffice's help, by language."""
    name = page.name
    if page.source.startswith("libreoffice-help-"):
        name = "help:" + name.partition("/help/")[2].partition("/")[2]
    elif page.source != "package descriptions":
        return
    text = "\n".join((page.title.partition(": ")[2] or page.title, *page.paragraphs))
    aligned[name].setdefault(page.language, text)


def _write_queries(path: Path, lines: mmap.mmap, places: list[tuple[bytes, int, int]]) -> int:
    """The titles of the first documents, until there are enough, and the number of these documents."""
    titles: dict[str, dict[str, str]] = {}
    least, most = _WORDS_A_QUERY
    n_seen = 0
    while len(titles) < N_QUERIES and n_seen < len(places):
        _, start, length = places[n_seen]
        row = json.loads(lines[start : start + length])
        if least <= len(row["title"].split()) <= most:
            titles.setdefault(row["title"], {"text": row["title"], "language": row["language"], "id": row["id"]})
        n_seen += 1
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in titles.values()), encoding="utf-8")
    return n_seen


def _write_aligned(path: Path, aligned: dict[str, dict[str, str]]) -> int:
    """The rows to train on, and their number of groups."""
    pages = sorted(name for name, texts in aligned.items() if name.startswith("help:") and len(texts) > 1)
    packages = sorted(name for name, texts in aligned.items() if not name.startswith("help:") and len(texts) > 1)
    # The packages with the most translations.
    packages = sorted(packages, key=lambda name: (-len(aligned[name]), digest(name)))[:N_DESCRIPTIONS]
    with path.open("w", encoding="utf-8") as file:
        for group in (*pages, *packages):
            for language, text in sorted(aligned[group].items()):
                row = {"id": f"{language}/{group}", "group": group, "language": language, "text": text}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return len(pages) + len(packages)


def _described(counts: Counter[tuple[str, str]]) -> dict[str, Any]:
    """The number of documents by language, by source, and of each source by language."""
    languages, sources = Counter[str](), Counter[str]()
    for (source, language), n in counts.items():
        languages[language] += n
        sources[source] += n
    return {
        "documents": sum(counts.values()),
        "languages": dict(languages.most_common()),
        "sources": dict(sources.most_common()),
        "by_source": {source: {lang: n for (one, lang), n in counts.items() if one == source} for source in sources},
    }
