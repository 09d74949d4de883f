"""What an index may be called, and how the versions of an index are named behind its name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import regex

from reranker.base.errors import BadInput, WrongParameter

# OpenSearch's own rules (lower case, no leading - _ +, none of the reserved characters), and no dot in front.
MAX_INDEX_NAME_LENGTH = 128
_INDEX_NAME = regex.compile(rf"[a-z0-9][a-z0-9_.\-]{{0,{MAX_INDEX_NAME_LENGTH - 1}}}")
# What engines give as `_index`, also of another cluster and of a data stream; no pattern, no list, no path.
_ANY_INDEX_NAME = regex.compile(r"(?!\.{1,2}$)[^\s_+\-\\/*?\"<>|,#][^\s\\/*?\"<>|,#]{0,511}")
# In `_meta`: the index that an index is a version of.
VERSION_OF = "version_of"
# 000001 and so on, as engines number the indices behind an alias that they roll over.
_VERSION_SUFFIX = regex.compile(r"-(\d{6})")
_LENGTH_OF_SUFFIX = 7
# An alias of each index of an engine that Sinkrank writes to: see `EngineStore`.
_WRITING_SUFFIX = "-sinkrank-writing"
# Far above what runs ask for (60 s) and what the clocks of two machines differ by.
_MOST_CLAIM_SECONDS = 600.0


def check_index_name(index: str) -> str:
    """The name, if it can be an index.

    Raises:
        WrongParameter: otherwise; no value from a request may reach a path or another API.
    """
    if not _INDEX_NAME.fullmatch(index):
        raise WrongParameter(
            f"{index!r} cannot be an index; use up to 128 lower-case letters, digits, '_', '-' and '.', "
            f"with a letter or digit first"
        )
    return index


def is_any_index_name(index: str) -> bool:
    """Whether it can be an index or alias that others made."""
    return _ANY_INDEX_NAME.fullmatch(index) is not None


def check_any_index_name(index: str) -> str:
    """The name, if it can be an index or alias that others made.

    Raises:
        WrongParameter: it is none.
    """
    if not is_any_index_name(index):
        raise WrongParameter(f"{index[:80]!r} is no index; give the name of an index or an alias")
    return index


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """One of the indices that stood, stand or are to stand behind a name.

    Attributes:
        name: its own; every method that takes an index takes it.
        is_serving: whether a search for the index meets it.
    """

    name: str
    is_serving: bool


def unversioned_name(index: str) -> str:
    """The name of the version that an index becomes which had none before."""
    return f"{index}-000000"


def version_name(index: str, existing: Iterable[str]) -> str:
    """The name of the next version of an index.

    >>> version_name("pages", ["pages-000001", "pages-000003", "other-000007"])
    'pages-000004'

    Raises:
        WrongParameter: the index's name leaves no room for a version's number.
    """
    if len(check_index_name(index)) + _LENGTH_OF_SUFFIX > MAX_INDEX_NAME_LENGTH:
        raise WrongParameter(
            f"the name {index!r} is too long for the number of a version behind it; use up to "
            f"{MAX_INDEX_NAME_LENGTH - _LENGTH_OF_SUFFIX} characters"
        )
    suffixes = [name.removeprefix(index) for name in existing if name.startswith(index)]
    numbers = [int(match.group(1)) for match in map(_VERSION_SUFFIX.fullmatch, suffixes) if match]
    return f"{index}-{max(numbers, default=0) + 1:06}"


def index_of_version(name: str) -> str | None:
    """The index that a name could be a version of; None where it has no version's number.

    >>> index_of_version("pages-000003"), index_of_version("pages")
    ('pages', None)
    """
    index, number = name[:-_LENGTH_OF_SUFFIX], name[-_LENGTH_OF_SUFFIX:]
    return index if index and _VERSION_SUFFIX.fullmatch(number) else None


def writing_alias(index: str) -> str:
    """The alias by which an index is written to: an engine makes an index that is missing, but never an alias."""
    return index + _WRITING_SUFFIX


def claim_seconds(claimed_until: float, now: float) -> float:
    """How many seconds a claim is still valid; 0 if it has run out, or if it lasts longer than any claim: the clock
    was ahead when it was written, and it would lock the index until then.

    Args:
        claimed_until, now: seconds since 1970.
    """
    remaining = claimed_until - now
    return remaining if 0 < remaining <= _MOST_CLAIM_SECONDS else 0.0


def claimed_by_another(index: str, seconds: float) -> BadInput:
    """Why a run cannot make versions of an index.

    Args:
        seconds: until the other one's claim runs out.
    """
    return BadInput(
        f"another run is making a version of index {index!r}; wait until it is done. If it was killed, give its "
        f"command again, which goes on where it was, or wait {seconds:.0f} s"
    )
