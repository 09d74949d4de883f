"""Fetches FreeDict's bilingual dictionaries from Debian's packages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from ingest.fetching.commands import RunCommand, run_command
from ingest.fetching.debian import Archive, ways_out
from ingest.progress import Progress, no_progress

_CODES: Mapping[str, str] = MappingProxyType(
    {
        "af": "afr", "ar": "ara", "bg": "bul", "br": "bre", "cs": "ces", "da": "dan", "de": "deu", "el": "ell",
        "en": "eng", "eo": "epo", "es": "spa", "fi": "fin", "fr": "fra", "ga": "gle", "hi": "hin", "hr": "hrv",
        "hu": "hun", "id": "ind", "it": "ita", "ja": "jpn", "ku": "kur", "la": "lat", "lt": "lit", "mk": "mkd",
        "nl": "nld", "no": "nor", "pl": "pol", "pt": "por", "ru": "rus", "sk": "slk", "sl": "slv", "sr": "srp",
        "sv": "swe", "sw": "swh", "tr": "tur",
    }
)  # fmt: skip
"""ISO 639-1 codes to the codes in FreeDict's names."""

# From the copyright files of the packages in Debian 12 (freedict 2022.04.21, freedict-wikdict 2022.12.07). The 13
# packages with a language that Sinkrank does not know, such as Icelandic or Welsh, are left out.
_PAIRS_BY_LICENCE = {
    "CC-BY-SA-3.0": (
        "de: bg el es fi fr id pl ru sv; el: bg en es fi fr id it ja la lt nl no pl pt ru sv; en: bg fi id ja no; "
        "fi: bg de el en fr id it ja la lt nl no pl pt sv; fr: bg de el es fi it ja la lt pl pt ru sv tr; "
        "it: bg el es fi id ja lt no pl pt ru sv tr; ja: de en fr ru; nl: bg el es fi id it la lt pl pt ru sv; "
        "pl: bg de el en es fi fr id it ja nl no pt ru sv tr; pt: es fr; "
        "sv: bg de el es fi fr it ja la nl no pl pt ru tr"
    ),
    "GPL-2.0-or-later": (
        "af: de en; ar: en; br: fr; cs: en; de: it ku nl pt tr; "
        "en: af ar cs el es fr ga hi hr it la lt nl pt ru sr sv sw tr; es: de en pt; fr: br en nl; ga: en pl; hr: en; "
        "it: de en; ku: de en tr; la: en; lt: en; nl: de en fr; pl: ga; pt: de en; sk: en; sr: en; sv: en; "
        "sw: en; tr: de en"
    ),
    "GPL-3.0-or-later": "da: en; de: en; en: da de; la: de; mk: bg; sl: en",
    "GPL-2.0-only": "en: hu; hu: en",
    "GPL-3.0-or-later and GFDL-1.2-or-later": "en: pl",
    "GPL-3.0-or-later and GFDL-1.1-or-later": "sw: pl",
    "CC-BY-3.0": "eo: en",
}

LICENCES: Mapping[str, str] = MappingProxyType(
    dict(
        sorted(
            (f"{language}-{target}", licence)
            for licence, lines in _PAIRS_BY_LICENCE.items()
            for language, targets in (line.split(": ") for line in lines.split("; "))
            for target in targets.split()
        )
    )
)
"""The dictionaries and their licences. `en-fr` has English headwords."""

_DICTIONARIES = Path("usr/share/dictd")


def package_of(pair: str) -> str:
    """The Debian package of a dictionary: `dict-freedict-fin-eng` for fi-en."""
    return f"dict-{_name(pair)}"


def fetch(
    folder: Path,
    pair: str,
    progress: Progress = no_progress,
    *,
    run: RunCommand = run_command,
) -> Path:
    """Fetches a dictionary of `LICENCES` into the folder, unless it is there. Returns the folder of its two files.

    Raises:
        FetchFailed: a tool is missing, or the package cannot be downloaded or unpacked.
    """
    otherwise = ", or leave the dictionary (or the system bm25-translated) out"
    archive = Archive.at(folder, ways_out("the dictionaries", [package_of(pair)], folder, otherwise), run)
    path = archive.folder / _name(pair)
    if not path.is_dir():
        progress(0, 1, f"downloading {package_of(pair)}")
        package = archive.package(package_of(pair))
        archive.unpack(package, _DICTIONARIES, [f"{path.name}.index", f"{path.name}.dict.dz"], path)
        progress(1, 1, f"downloaded {package_of(pair)}")
    return path


def _name(pair: str) -> str:
    language, _, target = pair.partition("-")
    return f"freedict-{_CODES[language]}-{_CODES[target]}"
