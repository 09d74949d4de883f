"""The rules for names of indices, and the names of an index's versions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import regex

from reranker.base.errors import BadInput, WrongParameter

# OpenSearch's own rules (lower case, no leading - _ +, none of the reserved characters), and no dot in front.
MAX_INDEX_NAME_LENGTH = 128
_INDEX_NAME = regex.compile(rf"[a-z0-9][a-z0-9_.\-]{{0,{MAX_INDEX_NAME_LENGTH - 1}}}")
# What engines return as `_index`, with those of another cluster and of data streams; no pattern, list or path.
_ANY_INDEX_NAME = regex.compile(r"(?!\.{1,2}$)[^\s_+\-\\/*?\"<>|,#][^\s\\/*?\"<>|,#]{0,511}")
# In `_meta`: the index that an index is a version of.
VERSION_OF = "version_of"
# In `_meta`: the run of ingest that makes a version, until it is complete.
RUN = "run"
# 000001 and so on, as engines number the indices behind an alias that they roll over.
_VERSION_SUFFIX = regex.compile(r"-(\d{6})")
_LENGTH_OF_SUFFIX = 7
# The alias through which Sinkrank writes to an engine's index; see `WritableEngineStore`.
_WRITING_SUFFIX = "-sinkrank-writing"
# Far longer than a run's claim (60 s) and than the difference between two machines' clocks.
_MOST_CLAIM_SECONDS = 600.0


def check_index_name(index: str) -> str:
    """Returns the name.

    Raises:
        WrongParameter: no index can have it. So no value from a request reaches a path or another API.
    """
    if not _INDEX_NAME.fullmatch(index):
        raise WrongParameter(
            f"{index!r} cannot be an index; use up to 128 lower-case letters, digits, '_', '-' and '.', "
            f"with a letter or digit first"
        )
    return index


def is_any_index_name(index: str) -> bool:
    """Whether an index or alias that others made can have this name."""
    return _ANY_INDEX_NAME.fullmatch(index) is not None


def check_any_index_name(index: str) -> str:
    """Returns the name.

    Raises:
        WrongParameter: no index or alias that others made can have it.
    """
    if not is_any_index_name(index):
        raise WrongParameter(f"{index[:80]!r} is not an index; give the name of an index or an alias")
    return index


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """One version of an index.

    Attributes:
        name: its own name, which stands for it wherever an index is named.
        is_serving: whether searches of the index use it.
        run: the run that makes it; None once it is complete.
    """

    name: str
    is_serving: bool
    run: str | None = None


def version_name(index: str, existing: Iterable[str]) -> str:
    """The name of the next version of an index.

    >>> version_name("pages", ["pages-000001", "pages-000003", "other-000007"])
    'pages-000004'

    Raises:
        WrongParameter: the index's name is too long to append a version's number.
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
    """Returns the index that a name could be a version of; None if it does not end in a version's number.

    >>> index_of_version("pages-000003"), index_of_version("pages")
    ('pages', None)
    """
    index, number = name[:-_LENGTH_OF_SUFFIX], name[-_LENGTH_OF_SUFFIX:]
    return index if index and _VERSION_SUFFIX.fullmatch(number) else None


def writing_alias(index: str) -> str:
    """The alias through which an index is written to. An engine would make a missing index, but never an alias."""
    return index + _WRITING_SUFFIX


def claim_seconds(claimed_until: float, now: float) -> float:
    """Returns for how many seconds a claim is still valid; 0 if it has expired.

    A claim longer than any run's is 0 too: the clock was ahead when it was written, and the index would stay locked.

    Args:
        claimed_until, now: seconds since 1970.
    """
    remaining = claimed_until - now
    return remaining if 0 < remaining <= _MOST_CLAIM_SECONDS else 0.0


def claimed_by_another(index: str, seconds: float) -> BadInput:
    """The error of a run that cannot make versions of an index.

    Args:
        seconds: until the other run's claim expires.
    """
    return BadInput(
        f"another run is making a version of index {index!r}; wait until it is done. If it was killed, give its "
        f"command again, which goes on where it was, or wait {seconds:.0f} s"
    )
