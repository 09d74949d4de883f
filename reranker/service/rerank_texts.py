"""Re-ranks the texts of a request, whichever API's shape it came in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reranker.bags import BagOfWords
from reranker.errors import BadInput, EmptyQuery, UnknownWords
from reranker.reranking import Reranker, Reranking
from reranker.scores import LOWEST_SCORE, SCORE_DECIMALS
from reranker.service.requests import RerankOptions
from reranker.service.service import Service
from reranker.service.stored_bags import read_stored_bag
from reranker.transport import Parameters


@dataclass(frozen=True, slots=True)
class RankedTexts:
    """Every text once, best first.

    Attributes:
        places: (index among the texts as given, score) pairs; scores never rise.
        n_words: of the query and all texts, parted by white space.
    """

    places: tuple[tuple[int, float], ...]
    method: str
    n_words: int
    warnings: tuple[str, ...] = ()


def rank_texts(service: Service, options: RerankOptions, texts: Sequence[str]) -> RankedTexts:
    """Re-ranks texts; those without a known word come last, in the order given.

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
    n_words = sum(len(text.split()) for text in (options.query, *texts))
    try:
        ranking = _rerank(service, options, texts, parameters)
    except (EmptyQuery, UnknownWords) as error:
        falling = tuple((place, _low_score(len(texts) - place)) for place in range(len(texts)))
        return RankedTexts(falling, "none", n_words, (f"the documents are in the order given: {error}",))
    return RankedTexts(tuple((one.index, one.score) for one in ranking.documents), ranking.method, n_words)


def _rerank(service: Service, options: RerankOptions, texts: Sequence[str], parameters: Parameters) -> Reranking:
    method = options.method or service.settings.method
    if options.index is None:
        return service.reranker.rerank(
            options.query,
            texts,
            language=options.language,
            document_languages=options.document_languages,
            method=method,
            parameters=parameters,
        )
    reranker = service.searcher.reranker(options.index)
    query = reranker.query(options.query, options.language)
    candidates = _candidates(reranker, texts, options.document_languages)
    return reranker.rerank_bags(query, candidates, method, parameters)


def _candidates(
    reranker: Reranker, texts: Sequence[str], languages: Sequence[str] | str | None
) -> list[tuple[BagOfWords, str]]:
    """Stored bags as they are, and what is none read as a text."""
    codes = [languages] * len(texts) if languages is None or isinstance(languages, str) else languages
    return [
        read_stored_bag(text, reranker.embeddings) or reranker.read_documents([text], code)[0]
        for text, code in zip(texts, codes, strict=True)
    ]


def _low_score(n_after: int) -> float:
    """A score under that of every finite distance (0.3 at least) for up to 10,000 documents, falling to the lowest."""
    return round(n_after * LOWEST_SCORE, SCORE_DECIMALS)
