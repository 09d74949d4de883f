"""Turns collections into the questions of the suite: a task with one or more sets of judgements."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from ir_measures import Qrel

from papers.corpora.tasks import SYSTEM_TOKENS, Direction, Task, make_task
from reranker.base.errors import BadInput
from reranker.text.tokens import letter_tokens
from sinkrank.demo.pages import Corpus, CorpusPage

Qrels = Mapping[str, Mapping[str, int]]
"""Relevance by query id and document id, as ir-measures takes it."""


@dataclass(frozen=True, eq=False)
class Judgement:
    """Judgements of a task.

    Attributes:
        name: name of the table with its figures.
        qrels: judgements without queries that have no relevant document; these are not measured.
        hidden: by query id, a document that is removed from the ranking because it is neither right nor wrong.
    """

    name: str
    qrels: Qrels
    hidden: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Question:
    """A task with its judgements.

    Attributes:
        collection: name of the collection whose training pages a system may have seen.
        labels: the class by query or document id, for a classification task; otherwise empty.
    """

    collection: str
    task: Task
    judgements: tuple[Judgement, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    scope: str = ""

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.collection, self.task.name, self.scope)))

    @cached_property
    def digest(self) -> str:
        """A hash of everything that a figure of this question depends on, except the system."""
        task = self.task
        whole = [
            self.collection, str(task.direction), task.query_kind, [dict(task.queries), dict(task.documents)],
            [dict(task.query_side), dict(task.written)], dict(self.labels),
            [[each.name, {key: dict(value) for key, value in each.qrels.items()}, dict(each.hidden)]
             for each in self.judgements],
        ]  # fmt: skip
        return hashlib.blake2b(json.dumps(whole, ensure_ascii=False).encode(), digest_size=16).hexdigest()


def translations(
    corpus: Corpus,
    collection: str,
    direction: Direction,
    query_kind: str,
    limit: int | None,
    related: bool = False,
    scope: str = "",
) -> Question:
    """Makes the question of finding each page's translation. If `related`, also that of finding the pages in the other
    language that share a guide (`CorpusPage.module`) with it, without its translation.

    Args:
        scope: added to the name of the table, if there is one for the same kind of query over other pages.
    """
    task = make_task(corpus, direction, query_kind, limit)
    table = " ".join(filter(None, (collection, query_kind, scope)))
    judgements = [Judgement(table, _by_query(task.qrels))]
    if related:
        judgements.append(_related(task, corpus.test_pages, f"{table}, related"))
    return Question(collection, task, tuple(judgements), scope=scope)


def classification(
    labelled: Sequence[CorpusPage], asking: Sequence[CorpusPage], collection: str, of_training: bool = False
) -> Question:
    """Makes the question of finding labelled pages of the same class in one language. A page is not its own neighbour.

    Raises:
        BadInput: there is no page on a side, or pages in several languages.
    """
    languages = {page.language for page in (*labelled, *asking)}
    if len(languages) != 1 or not labelled or not asking:
        raise BadInput(f"classification takes pages of one language on both sides, not {sorted(languages)}")
    language = languages.pop()
    queries = {f"query/{page.page_id}": page for page in asking}
    documents = {f"{language}/{page.page_id}": page for page in labelled}
    pages = (*queries.items(), *documents.items())
    tokens = {name: letter_tokens(page.text, language, SYSTEM_TOKENS) for name, page in pages}
    task = Task(
        Direction(language, language),
        "training" if of_training else "classes",
        {name: tuple(tokens[name]) for name in queries},
        {name: tuple(tokens[name]) for name in documents},
        {page.page_id: tuple(tokens[name]) for name, page in documents.items()},
        (),
        {name: page.text for name, page in (*queries.items(), *documents.items())},
    )
    labels = {name: page.module for name, page in (*queries.items(), *documents.items())}
    return Question(collection, task, labels=MappingProxyType(labels))


def _by_query(qrels: Iterable[Qrel]) -> Qrels:
    found: dict[str, dict[str, int]] = {}
    for qrel in qrels:
        found.setdefault(qrel.query_id, {})[qrel.doc_id] = qrel.relevance
    return found


def _related(task: Task, pages: Iterable[CorpusPage], name: str) -> Judgement:
    guides = {(page.language, page.page_id): frozenset(page.module.split()) for page in pages}
    by_document = {doc_id: guides[_page_of(doc_id)] for doc_id in task.documents}
    hidden = {qrel.query_id: qrel.doc_id for qrel in task.qrels}
    found = {
        query_id: {
            doc_id: 1 for doc_id, listed in by_document.items() if doc_id != own and listed & guides[_page_of(query_id)]
        }
        for query_id, own in hidden.items()
    }
    return Judgement(name, {query_id: relevant for query_id, relevant in found.items() if relevant}, hidden)


def _page_of(identifier: str) -> tuple[str, str]:
    """(language, page id) of a query or document id."""
    language, _, page_id = identifier.partition("/")
    return language, page_id
