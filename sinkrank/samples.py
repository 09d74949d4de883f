"""Embeddings to try the library with, before there are any of one's own."""

from __future__ import annotations

from pathlib import Path


def sample_embeddings(path: str | Path) -> Path:
    """Trains small embeddings at the path, in seconds, on the texts that come along (2,000 words of English, French and
    German), unless they are there.

    Raises:
        BadInput: something else stands at the path.
    """
    from evaluation.corpora.shipped import load_parallel_texts
    from evaluation.trained import train_on

    return train_on(load_parallel_texts(), Path(path)).path
