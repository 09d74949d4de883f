"""Makes judged queries out of an index's own documents, where nobody has judged any."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reranker.base.errors import BadInput
from reranker.query_dsl.source_texts import named_strings
from reranker.text.documents import Document
from reranker.text.known_items import known_items
from reranker.text.language_detection import UNKNOWN_LANGUAGE
from sinkrank.evaluation.comparison import Difference
from sinkrank.evaluation.judgments import JudgedQuery

N_DOCUMENTS = 1_000
"""Drawn to find `N_QUERIES` that suit."""

N_QUERIES = 300

MIN_QUERIES = 20
"""With fewer the bound says nothing."""

# The last part of the name of the field that holds the title.
_TITLE_FIELDS = ("title", "headline", "name", "subject")


def known_queries(documents: Iterable[Document]) -> list[JudgedQuery]:
    """Their titles or first sentences, each with its document as the only relevant one.

    Raises:
        BadInput: there are fewer than 20.
    """
    found = known_items(documents, N_QUERIES)
    if len(found) < MIN_QUERIES:
        raise BadInput(
            f"{len(found)} documents have a title or first sentence of their own, and {MIN_QUERIES} are needed; judge "
            "queries of your own, and give --qrels"
        )
    return [
        JudgedQuery(
            each.doc_id,
            each.query,
            None if each.language == UNKNOWN_LANGUAGE else each.language,
            (),
            None,
            {each.doc_id: 1},
        )
        for each in found
    ]


def documents_of_hits(hits: Iterable[Mapping[str, Any]]) -> Iterator[Document]:
    """The documents of an index that Sinkrank did not make. The title is the string of a field `title`, `headline`,
    `name` or `subject`, the text the longest string; the language is not known."""
    for hit in hits:
        strings = list(named_strings(hit.get("_source")))
        titles = {name.rpartition(".")[2].lower(): text for name, text in reversed(strings)}
        title = next((titles[name] for name in _TITLE_FIELDS if name in titles), "")
        text = max((text for _, text in strings), key=len, default="")
        yield Document(str(hit["_id"]), text, UNKNOWN_LANGUAGE, title)


def sentence(difference: Difference, n_queries: int) -> str:
    """What the queries say of a method, in words."""
    return (
        f"on {n_queries} titles or first sentences of its documents: better {difference.n_better}, worse "
        f"{difference.n_worse}; with 95 % confidence at most {difference.much_worse_at_most:.1%} of such searches lose "
        "over .1 nDCG@10"
    )
