"""Says which extra brings a package that is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from reranker.base.errors import MissingPackage


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Imports go into it: `with extra("exact", "the method emd"): import ot`.

    Args:
        name: of the extra.
        what: what needs the packages, as the subject of a sentence.

    Raises:
        MissingPackage: one of them is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingPackage(
            f"{what} needs the package {error.name}, which is not installed; install it with: "
            f"pip install 'sinkrank[{name}]'"
        ) from error
