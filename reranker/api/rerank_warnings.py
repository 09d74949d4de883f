"""Warns of a re-ranking that goes by spelling alone: the embeddings do not hold the words of the query or the texts."""

from __future__ import annotations

from collections.abc import Sequence

from reranker.embeddings import Embeddings
from reranker.ranking.query import Query
from reranker.service.text_bags import Bag
from reranker.text.tokens import tokenize

# Enough to tell whether a language is held, little beside the work of ranking.
_SAMPLED_TEXTS = 3
_SAMPLED_CHARS = 300
# Prepared embeddings lack 5 % of the words; another language shares some words with theirs.
_LEAST_SHARE = 0.25


def spelling_warnings(
    query: Query, texts: Sequence[str], candidates: Sequence[Bag], embeddings: Embeddings
) -> list[str]:
    """A sentence for the query, and one for the documents, where they have no words of their own in the embeddings.

    Args:
        texts: the documents as they came; none where they may be stored bags, made with these embeddings.
        candidates: of each text its bag and language.
    """
    held = ", ".join(embeddings.languages)
    cure = f"name its language if it is one of {held}, or load embeddings of it (`sinkrank embeddings --help`)"
    warnings = []
    if not any(embeddings.knows(query.language, token) for token in query.tokens):
        warnings.append(
            f"no word of the query has an embedding of its own in language {query.language!r}: it was ranked by words "
            f"that are spelled alike; {cure}"
        )
    known = [
        embeddings.knows(language, token)
        for text, (_, language) in zip(texts[:_SAMPLED_TEXTS], candidates, strict=False)
        for token in tokenize(text[:_SAMPLED_CHARS], language)
    ]
    if known and sum(known) < _LEAST_SHARE * len(known):
        languages = ", ".join(sorted({language for _, language in candidates[:_SAMPLED_TEXTS]}))
        warnings.append(
            f"hardly a word of the documents has an embedding of its own in their language ({languages}): they were "
            f"ranked by words that are spelled alike; {cure}"
        )
    return warnings
