"""Re-ranks the texts of a request, whichever API's shape it came in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from reranker.answers.rerank import ApiVersion, RankedText, RerankMeta
from reranker.api.callers import check_may_use_statistics
from reranker.api.rerank_warnings import spelling_warnings
from reranker.base.errors import BadInput, EmptyQuery, UnknownWords
from reranker.ranking.ranked import Reranking
from reranker.ranking.relevance import check_min_relevance
from reranker.ranking.scores import LOWEST_SCORE, SCORE_DECIMALS
from reranker.service.requests import RerankOptions
from reranker.service.service import Service
from reranker.service.text_bags import Bag, read_stored_bag
from reranker.text.languages import language_code
from reranker.transport import Parameters, check_method


def rank_texts(
    service: Service,
    options: RerankOptions,
    texts: Sequence[str],
    top_n: int | None = None,
    api_version: Literal["1", "2"] = "1",
) -> tuple[list[RankedText], RerankMeta]:
    """Re-ranks texts; those without a known word come last, in the order given.

    `auto` adds BM25 of the texts in the query's language to transport. With `top_n` the best are the same as without.

    A query that has words, but none that is known, leaves the texts in the order given, with scores that fall from
    low ones and a warning. An error would be the wrong answer to programs: a search pipeline of OpenSearch fails
    the whole search at one, and the order that the engine found is better than no hits. (Our own search, which people
    read, does answer with an error.)

    Raises:
        EmptyQuery: the query is blank.
        BadInput: too many languages, a method or parameter that is not known.
        UnknownLanguage: a language that is not a code.
    """
    if not options.query.strip():
        raise EmptyQuery("the query is empty; give it at least one word")
    languages = options.document_languages
    if isinstance(languages, list) and len(languages) != len(texts):
        raise BadInput(
            f"{len(languages)} document languages came for {len(texts)} documents; give one for all or one for each"
        )
    parameters = service.parameters(options.epsilon, options.n_iterations, options.tau)
    method = check_method(options.method or service.settings.method)
    check_min_relevance(options.min_relevance, method)
    version = ApiVersion(api_version)
    asked = options.min_relevance is not None
    try:
        ranking, warnings = _rerank(service, options, texts, method, parameters, top_n)
    except (EmptyQuery, UnknownWords) as error:
        falling = [RankedText(index=place, score=_low_score(len(texts) - place)) for place in range(len(texts))]
        warnings = [f"the documents are in the order given: {error}"]
        # No relevance is known, so all stay.
        no_good_answer = True if asked and not texts else None
        n_cut = 0 if asked else None
        return falling[:top_n], RerankMeta(version, "none", "none", 0, warnings, no_good_answer, n_cut)
    ranked = [
        RankedText(
            index=one.index,
            score=one.score,
            without_known_word=one.without_known_word,
            relevance=one.relevance if asked else None,
        )
        for one in ranking.documents
    ]
    return ranked, RerankMeta(
        version,
        ranking.method,
        ranking.precision,
        ranking.n_solved,
        warnings or None,
        ranking.has_no_good_answer if asked else None,
        ranking.n_cut if asked else None,
    )


def _rerank(
    service: Service,
    options: RerankOptions,
    texts: Sequence[str],
    method: str,
    parameters: Parameters,
    top_n: int | None,
) -> tuple[Reranking, list[str]]:
    if options.index is not None:
        check_may_use_statistics(service, options.index)
    reranker = service.reranker if options.index is None else service.searcher.open(options.index).reranker
    query = reranker.query(options.query, options.language)
    candidates = _candidates(service, texts, options, query.language)
    ranking = reranker.rerank_bags(
        query,
        candidates,
        method,
        parameters,
        first_stage_scores=reranker.lexical_scores(query, candidates, method),
        feedback=service.settings.feedback,
        first_stage_share=service.settings.first_stage_share,
        top_n=None if options.min_relevance is not None else top_n,
    )
    if options.min_relevance is not None:
        ranking = ranking.cut(options.min_relevance)
        ranking = replace(ranking, documents=ranking.documents[:top_n])
    read_texts = texts if options.index is None else ()
    return ranking, spelling_warnings(query, read_texts, candidates, service.embeddings)


def _candidates(service: Service, texts: Sequence[str], options: RerankOptions, likely: str) -> list[Bag]:
    """Each text's bag; where an index of ours is named a text may be a stored bag."""
    codes = _codes(options.document_languages, len(texts))
    stored = [None if options.index is None else read_stored_bag(text, service.embeddings) for text in texts]
    new = [place for place, bag in enumerate(stored) if bag is None]
    read = iter(service.texts.read([texts[place] for place in new], [codes[place] for place in new], likely=likely))
    return [next(read) if bag is None else bag for bag in stored]


def _codes(languages: Sequence[str] | str | None, n_texts: int) -> Sequence[str | None]:
    """
    Raises:
        UnknownLanguage: one is no code.
    """
    if languages is None or isinstance(languages, str):
        return [None if languages is None else language_code(languages)] * n_texts
    return [language_code(language) for language in languages]


def _low_score(n_after: int) -> float:
    """A score under that of every finite distance (0.3 at least) for up to 10,000 documents, falling to the lowest."""
    return round(n_after * LOWEST_SCORE, SCORE_DECIMALS)
