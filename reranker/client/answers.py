"""The answers that the client gives: `hit.title` and `hit["title"]` are the same. `reranker.answers` declares them."""

from reranker.answers import *  # noqa: F403
from reranker.answers import __all__ as __all__
