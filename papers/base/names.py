"""Checks names that a user gives: of systems, of methods, of collections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reranker.base.errors import WrongParameter
from reranker.base.suggestions import did_you_mean


def check_name(name: str, known: Sequence[str], what: str) -> None:
    """Checks one name.

    Args:
        what: what the names are, for the message.

    Raises:
        WrongParameter: it is unknown; the message suggests the nearest.
    """
    if name not in known:
        hint = did_you_mean(name, known) or f"give some of {', '.join(known)}"
        raise WrongParameter(f"{name!r} is not {what}; {hint}")


def known_names(names: Iterable[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    """The names that were given, checked and without repetitions; `all` stands for all of them.

    Raises:
        WrongParameter: one is unknown; the message suggests the nearest.
    """
    given = tuple(dict.fromkeys(names))
    if given == ("all",):
        return tuple(known)
    for name in given:
        check_name(name, known, what)
    return given
