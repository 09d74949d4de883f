"""Turns language tags (`FR`, `en-US`) into ISO 639-1 codes that Sinkrank knows."""

from __future__ import annotations

from functools import cache

from rapidfuzz import process

from reranker.base.errors import UnknownLanguage
from reranker.text.segmentation import UNSPACED_LANGUAGES
from reranker.text.stems import STEMMERS

# Without stop words and stems: languages of published vectors, and those whose letters have rules of their own.
_OTHERS = ("az", "be", "bs", "ka", "kk", "mk", "sq", "te")

OTHER_CODES = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "ji": "yi"}
"""Codes that Sinkrank takes for another: of the two written forms of Norwegian, and those that ISO 639 replaced."""


@cache
def known_languages() -> frozenset[str]:
    """The ISO 639-1 codes of languages with stop words, a stemmer or a segmenter."""
    import stopwordsiso  # it reads its own metadata when it is imported

    return frozenset([*stopwordsiso.langs(), *STEMMERS, *UNSPACED_LANGUAGES, *_OTHERS])


def language_code(name: str) -> str:
    """The two-letter code of a language tag: `en-US` → `en`, `nb` → `no`.

    Raises:
        UnknownLanguage: the tag's first part is not a known code; the message names the nearest ones.
    """
    code = name.strip().replace("_", "-").split("-", 1)[0].lower() if isinstance(name, str) else ""
    code = OTHER_CODES.get(code, code)
    if code in known_languages():
        return code
    nearest = [match for match, _, _ in process.extract(code or "en", sorted(known_languages()), limit=3)]
    raise UnknownLanguage(
        f"{name!r} is not a language code; give an ISO 639-1 code of two letters such as "
        f"{', '.join(repr(code) for code in nearest)}"
    )
