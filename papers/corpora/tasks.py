"""Turns the test pages of a parallel corpus into retrieval tasks: queries, documents and qrels.

In every task a page is a query for its own translation. Kinds of query (`QUERY_KINDS`):

    pages     the whole page
    first20   its first 20 words, without stop words, and the numbers among them; also first3, first8, first60
    halves    its first half, for the second half of its translation: they have no paragraph in common
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from types import MappingProxyType

from ir_measures import Qrel

from papers.base.language_pairs import language_pair
from reranker.base.errors import BadInput
from reranker.text.token_places import token_places
from reranker.text.tokens import has_digit, letter_tokens, tokenize
from sinkrank.demo.pages import Corpus, CorpusPage, by_language

N_FIRST_TOKENS: Mapping[str, int] = MappingProxyType({"first3": 3, "first8": 8, "first20": 20, "first60": 60})
QUERY_KINDS = (*N_FIRST_TOKENS, "pages", "halves")
DEFAULT_QUERY_KINDS = ("first20", "pages", "halves")

# Balikas et al. 2018 keep documents of more than five words. Here the rule is for queries too, except those that are
# cut shorter, and numbers do not count.
MIN_TOKENS = 6

# Balikas et al. 2018, section 4: "we keep for each document the first 500 words".
SYSTEM_TOKENS = 500

SAMPLE_SEED = 2018
DEFAULT_LIMIT = 400

Texts = Mapping[str, tuple[str, ...]]
"""Tokens by id."""


@dataclass(frozen=True, order=True)
class Direction:
    """The language of the queries and that of the documents: `fi-en` is for Finnish queries and English documents."""

    query_language: str
    document_language: str

    def __str__(self) -> str:
        return f"{self.query_language}-{self.document_language}"

    @classmethod
    def parse(cls, text: str) -> Direction:
        """Reads `fi-en`.

        Raises:
            WrongParameter: it is not two different languages with a hyphen between.
            UnknownLanguage: one is not a language code.
        """
        return cls(*language_pair(text))


@dataclass(frozen=True, eq=False)
class Task:
    """One retrieval task.

    Attributes:
        queries: tokens by query id.
        documents: tokens by document id, in the documents' language.
        query_side: the documents in the queries' language, by page id. They are not searched, but the idf of the
            query's words is counted over them, as in an index of both languages.
        qrels: for each query its one relevant document.
        written: the text of every query and document, by query or document id, for systems that do not read tokens.
        left_out: page ids that both languages have, but that are not suitable, by reason.
    """

    direction: Direction
    query_kind: str
    queries: Texts
    documents: Texts
    query_side: Texts
    qrels: tuple[Qrel, ...]
    written: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.direction} {self.query_kind}"


def default_directions(languages: Sequence[str]) -> list[Direction]:
    """From English to each other language and back; all pairs if English is missing."""
    if "en" not in languages:
        return [Direction(*pair) for pair in permutations(languages, 2)]
    others = [language for language in languages if language != "en"]
    return [direction for other in others for direction in (Direction("en", other), Direction(other, "en"))]


def make_task(
    corpus: Corpus, direction: Direction, query_kind: str, limit: int | None = DEFAULT_LIMIT, seed: int = SAMPLE_SEED
) -> Task:
    """Makes the task of the first `limit` suitable pages of the shuffled test pages; None for all.

    The order depends only on the test page ids and the seed, so all directions have nearly the same pages.

    Raises:
        BadInput: the kind of query is unknown, the corpus lacks a language, the limit is below 1, or there is no
            suitable page.
    """
    if query_kind not in QUERY_KINDS:
        raise BadInput(f"{query_kind!r} is not a kind of query; give one of {', '.join(QUERY_KINDS)}")
    if limit is not None and limit < 1:
        raise BadInput(f"limit is {limit}; give 1 or more, or none at all for every test page")
    for language in (direction.query_language, direction.document_language):
        if language not in corpus.languages:
            raise BadInput(
                f"the corpus {corpus.name} has no pages in {language!r}; it has {', '.join(corpus.languages)}"
            )
    asking = by_language(corpus.test_pages, direction.query_language)
    searched = by_language(corpus.test_pages, direction.document_language)
    queries: dict[str, tuple[str, ...]] = {}
    documents: dict[str, tuple[str, ...]] = {}
    query_side: dict[str, tuple[str, ...]] = {}
    written: dict[str, str] = {}
    qrels: list[Qrel] = []
    n_short = 0
    for page_id in _shuffled(corpus.test_pages, seed):
        if len(queries) == limit:
            break
        if page_id not in asking or page_id not in searched:
            continue
        query_text, document_text, counted_text = _texts(asking[page_id], searched[page_id], query_kind)
        query = _tokens(query_text, direction.query_language)
        document = _tokens(document_text, direction.document_language)
        least = min(MIN_TOKENS, N_FIRST_TOKENS.get(query_kind, MIN_TOKENS))
        if _n_words(document_text, direction.document_language) < MIN_TOKENS or (
            _n_words(query_text, direction.query_language) < least
        ):
            n_short += 1
            continue
        query_id = f"{direction.query_language}/{page_id}"
        doc_id = f"{direction.document_language}/{page_id}"
        queries[query_id], documents[doc_id] = query, document
        written[query_id], written[doc_id] = query_text, document_text
        query_side[page_id] = _tokens(counted_text, direction.query_language)
        qrels.append(Qrel(query_id, doc_id, 1))
    if not queries:
        raise BadInput(
            f"the corpus {corpus.name} has no test page for {direction} {query_kind}; take another direction"
        )
    left_out = {"fewer than 6 words in the query or the document": n_short} if n_short else {}
    return Task(direction, query_kind, queries, documents, query_side, tuple(qrels), written, left_out)


def halves(asking: CorpusPage, searched: CorpusPage) -> tuple[str, str, str]:
    """(first half of one page, second half of its translation, second half of the page itself).

    The paragraphs that both languages have, in the order of the query's page, are split in the middle. Paragraphs of
    the second half that repeat the text of one in the first half, in either language, are left out, as are paragraphs
    without translation.
    """
    ours, theirs = dict(asking.paragraphs), dict(searched.paragraphs)
    shared = [paragraph_id for paragraph_id in ours if paragraph_id in theirs]
    first, second = shared[: len(shared) // 2], shared[len(shared) // 2 :]
    texts = {ours[paragraph_id] for paragraph_id in first} | {theirs[paragraph_id] for paragraph_id in first}
    fresh = [
        paragraph_id for paragraph_id in second if ours[paragraph_id] not in texts and theirs[paragraph_id] not in texts
    ]
    return (
        "\n".join(ours[paragraph_id] for paragraph_id in first),
        "\n".join(theirs[paragraph_id] for paragraph_id in fresh),
        "\n".join(ours[paragraph_id] for paragraph_id in fresh),
    )


def first_tokens(text: str, language: str, n: int) -> str:
    """The text up to its nth word, as it is written; all of it if it has fewer. Numbers do not count as words.

    >>> first_tokens("The cat, the 2 DOGS and a mouse.", "en", 2)
    'The cat, the 2 DOGS'
    """
    for token, _, end in token_places(text, language):
        n -= not has_digit(token)
        if n == 0:
            return text[:end]
    return text


def _texts(asking: CorpusPage, searched: CorpusPage, query_kind: str) -> tuple[str, str, str]:
    """The query, the document, and the document in the query's language."""
    if query_kind == "halves":
        return halves(asking, searched)
    n_tokens = N_FIRST_TOKENS.get(query_kind)
    query = asking.text if n_tokens is None else first_tokens(asking.text, asking.language, n_tokens)
    return query, searched.text, asking.text


def _n_words(text: str, language: str) -> int:
    return len(letter_tokens(text, language, MIN_TOKENS))


def _tokens(text: str, language: str) -> tuple[str, ...]:
    return tuple(tokenize(text, language, SYSTEM_TOKENS))


def _shuffled(pages: Iterable[CorpusPage], seed: int) -> Iterator[str]:
    page_ids = sorted({page.page_id for page in pages})
    random.Random(seed).shuffle(page_ids)  # noqa: S311 - a sample, not a secret
    return iter(page_ids)
