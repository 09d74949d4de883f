"""What a search is asked for: checked when it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from reranker.base.errors import WrongParameter
from reranker.ranking.evidence import check_first_stage_share
from reranker.ranking.relevance import check_min_relevance
from reranker.stores.base.filters import Filters
from reranker.stores.base.names import check_index_name
from reranker.transport import Parameters, check_method
from reranker.upstream.rights import SERVICE, Rights

FirstStage = Literal["auto", "knn", "bm25", "translated", "hybrid"]
FIRST_STAGES: tuple[str, ...] = get_args(FirstStage)

DEFAULT_FIRST_STAGE = "hybrid"
"""What `auto` takes: in one language and across languages it finds most (docs/choosing.md)."""

# The paper's lists have 1,000 candidates at most.
MAX_DEPTH = 1_000
# OpenSearch's result window ends here.
MAX_WINDOW = 10_000

# Least and largest value of each number, by its key in a request.
LIMITS: Mapping[str, tuple[int, int]] = {
    "depth": (1, MAX_DEPTH),
    "from": (0, MAX_WINDOW),
    "size": (0, MAX_WINDOW),
    "knn_weight": (0, 1),
    "from + size": (0, MAX_WINDOW),
}


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What to search for, where, and how.

    Attributes:
        language: of the query; guessed where it is None.
        filters: of the documents, their languages among them.
        first_stage: `knn`; `bm25`, by the query's words as they are written; `translated`, BM25 by their translations
            in documents of other languages; `hybrid`, kNN and `translated`, which `auto` takes.
        depth: candidates that the first stage fetches and the second re-orders.
        method: of `transport.METHODS`; or `none` for the first stage's order.
        offset: hits to leave out at the top; with `size` it pages through the re-ranked window and on through the
            first stage's order, no hit twice.
        knn_weight: of kNN in the fusion of `hybrid`, 0 to 1; BM25 has the rest.
        feedback, first_stage_share: as `Reranker.rerank_bags`.
        min_relevance: leaves out the hits with less (`ranking.relevance`), and all behind the window; 0 leaves out
            none. None asks for no relevance.
        max_bytes: of the documents of the page; a search with more is refused. None: no limit.
        rights: with whose rights documents are read.
    """

    text: str
    index: str
    language: str | None = None
    filters: Filters = field(default_factory=Filters)
    first_stage: str = "auto"
    depth: int = 100
    method: str = "auto"
    parameters: Parameters = field(default_factory=Parameters)
    offset: int = 0
    size: int = 10
    knn_weight: float = 0.5
    feedback: bool = True
    first_stage_share: float | None = None
    min_relevance: float | None = None
    max_bytes: int | None = None
    rights: Rights = SERVICE

    def __post_init__(self) -> None:
        check_index_name(self.index)
        if self.first_stage not in FIRST_STAGES:
            raise WrongParameter(f"first stage {self.first_stage!r} is not known; use one of {', '.join(FIRST_STAGES)}")
        check_method(self.method, "none")
        check_first_stage_share(self.first_stage_share)
        check_min_relevance(self.min_relevance, self.method)
        given = {"depth": self.depth, "from": self.offset, "size": self.size, "knn_weight": self.knn_weight}
        given["from + size"] = self.offset + self.size
        for name, value in given.items():
            lowest, highest = LIMITS[name]
            if not lowest <= value <= highest:
                raise WrongParameter(f"{name} is {value}; give {lowest} to {highest}")
