"""Checks embeddings on the documents: how well titles find their documents, and how many words are unknown."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ingest.embeddings.preparing.texts import Texts
from ingest.progress import Progress, no_progress
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import SAMPLE_TOKENS, HubnessSampleBuilder
from reranker.ranking.reranker import Reranker
from reranker.text.bags import BagOfWords
from reranker.text.documents import Document
from reranker.text.idf import DocumentFrequencies, IdfTable
from reranker.text.tokens import letter_tokens, tokenize

N_QUERIES = 200
# Number of texts to search. With 200 titles, checking a store takes five seconds of one core.
N_TEXTS = 500
# Number of first words that serve as the title of a text without one.
_FIRST_WORDS = 8
_MAX_TOKENS = 200


@dataclass(frozen=True, slots=True)
class SampleQuery:
    """A query (a title, or the first words of a text), and the place of the text that it should find."""

    text: str
    language: str
    place: int


@dataclass(frozen=True, slots=True)
class CheckSample:
    """Texts and queries.

    Attributes:
        texts: (language, text without its title or first words).
        across: whether the queries should find translations.
        has_titles: whether most queries are titles.
    """

    texts: list[tuple[str, str]]
    queries: list[SampleQuery]
    across: bool
    has_titles: bool


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result for a store.

    Attributes:
        mrr: mean reciprocal rank of the texts to find; None without queries.
        unknown_share: share of the sampled texts' tokens without an embedding, 0 to 1.
    """

    mrr: float | None
    unknown_share: float


def draw_sample(texts: Texts) -> CheckSample:
    """A random sample of texts, the same in each run. Translations of each other stay together."""
    # Of translations of each other, which have the same number, the later ones.
    drawn = ((texts.draw(document), -number, document) for number, document in enumerate(texts.documents()))
    sampled = sorted(heapq.nsmallest(N_TEXTS, drawn), key=lambda one: (one[0], -one[1]))
    documents = [document for _, _, document in sampled]
    if texts.n_aligned > 1:
        across = _across(documents, texts)
        if across.queries:
            return across
    return _within(documents)


def _within(documents: Sequence[Document]) -> CheckSample:
    split = [(document.language, *_split(document)) for document in documents]
    # Titles of several texts are left out.
    seen = Counter(query for _, query, _ in split)
    queries = [
        SampleQuery(query, language, place)
        for place, (language, query, text) in enumerate(split)
        if seen[query] == 1 and text.strip() and tokenize(query, language)
    ]
    texts = [(language, text) for language, _, text in split]
    n_titles = sum(bool(document.title) for document in documents)
    return CheckSample(texts, queries[:N_QUERIES], False, n_titles > len(documents) / 2)


def _across(documents: Sequence[Document], texts: Texts) -> CheckSample:
    """Queries are the beginnings of documents and should find translations, in all languages in turn."""
    places: dict[str, list[int]] = {}
    for place, document in enumerate(documents):
        group = texts.group(document)
        if group is not None:
            places.setdefault(group, []).append(place)
    queries = []
    for number, members in enumerate(places.values()):
        asking = members[number % len(members)]
        others = [place for place in members if documents[place].language != documents[asking].language]
        language = documents[asking].language
        query = " ".join(documents[asking].full_text.split()[: 2 * _FIRST_WORDS])
        if others and tokenize(query, language):
            queries.append(SampleQuery(query, language, others[number % len(others)]))
    candidates = [(document.language, document.full_text) for document in documents]
    return CheckSample(candidates, queries[:N_QUERIES], True, False)


def _split(document: Document) -> tuple[str, str]:
    """The query of a document, and the text that it should find."""
    if document.title.strip() and document.text.strip():
        return document.title, document.text
    words = document.full_text.split()
    return " ".join(words[:_FIRST_WORDS]), " ".join(words[_FIRST_WORDS:])


def check(
    embeddings: Embeddings, sample: CheckSample, n_threads: int = 1, progress: Progress = no_progress
) -> CheckResult:
    """The result of a store. A query searches the texts in the language of its answer.

    Words without an embedding count as unknown; they get no embedding of a similar spelling.
    """
    embeddings = embeddings.with_unknown_words("skip")
    tokens = [tokenize(text, language, _MAX_TOKENS) for language, text in sample.texts]
    languages = [language for language, _ in sample.texts]
    bags = [embeddings.bag_of_tokens(words, language) for words, language in zip(tokens, languages, strict=True)]
    letters = [letter_tokens(text, language, _MAX_TOKENS) for language, text in sample.texts]
    known = [
        sum(embeddings.term_id(language, word) is not None for word in words)
        for words, language in zip(letters, languages, strict=True)
    ]
    n_letters = sum(map(len, letters))
    ranks = _reciprocal_ranks(embeddings, sample, bags, n_threads, progress)
    mrr = sum(ranks) / len(ranks) if ranks else None
    return CheckResult(mrr, 1 - sum(known) / n_letters if n_letters else 0.0)


def _reciprocal_ranks(
    embeddings: Embeddings, sample: CheckSample, bags: Sequence[BagOfWords], n_threads: int, progress: Progress
) -> list[float]:
    languages = [language for language, _ in sample.texts]
    by_language = {code: [place for place, one in enumerate(languages) if one == code] for code in set(languages)}
    idf = IdfTable(
        {code: DocumentFrequencies.count([bags[place] for place in places]) for code, places in by_language.items()}
    )
    hubness = HubnessSampleBuilder(embeddings.version)
    for place, (language, text) in enumerate(sample.texts):
        first = tokenize(text, language, SAMPLE_TOKENS)
        hubness.add(language, str(place), embeddings.bag_of_tokens(first, language))
    reranker = Reranker(embeddings, idf, n_threads, hubness.result())
    found = []
    for number, drawn in enumerate(sample.queries):
        progress(number, len(sample.queries), "searching documents by their titles")
        query = reranker.query_with_unknown_words(drawn.text, drawn.language)
        if not len(query.weighted):
            found.append(0.0)
            continue
        places = by_language[languages[drawn.place]]
        ranking = reranker.rerank_bags(query, [(bags[place], languages[place]) for place in places])
        ranks = {document.index: rank for rank, document in enumerate(ranking.documents, start=1)}
        rank = ranks.get(places.index(drawn.place))
        found.append(0.0 if rank is None else 1 / rank)
    progress(len(sample.queries), len(sample.queries), "searched documents by their titles")
    return found
