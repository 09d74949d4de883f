"""Guesses the language of a collection's queries and documents from many texts together, since short ones mislead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from papers.base.language_pairs import language_pair
from papers.judged.beir import Collection
from reranker.base.errors import BadInput, UnknownLanguage
from reranker.embeddings import Embeddings
from reranker.text.language_detection import UNKNOWN_LANGUAGE, detect_language
from reranker.text.languages import language_code

# Number of letters in a chunk. The language is detected for each chunk, and the most frequent one is taken.
_CHUNK_LETTERS = 2_000
_MAX_CHUNKS = 20
# Maximum number of letters of one text, so that a long text does not fill a chunk.
_TEXT_LETTERS = 200
_MIN_CONFIDENCE = 0.5


def languages_of(collection: Collection, given: str | None, embeddings: Embeddings) -> tuple[str, str]:
    """Returns the languages of the queries and of the documents.

    Args:
        given: `en` for both, `en-de` for queries in English and documents in German; None to guess.

    Raises:
        UnknownLanguage, WrongParameter: `given` is neither a language nor two.
        BadInput: a language cannot be guessed, or the embeddings lack it.
    """
    if given is None:
        found = (
            _guess((query.text for query in collection.queries), "queries"),
            _guess((document.full_text for document in collection.documents("en")), "documents"),
        )
    elif "-" in given:
        found = language_pair(given)
    else:
        found = (language_code(given), language_code(given))
    for language, what in zip(found, ("queries", "documents"), strict=True):
        if language not in embeddings.languages:
            raise UnknownLanguage(
                f"the {what} of {collection.name} are in {language!r}{'' if given else ' by a guess'}, and the "
                f"embeddings have only {', '.join(embeddings.languages)}; give other embeddings with --embeddings, or "
                "the right languages with --lang (en, or en-de for English queries and German documents)"
            )
    return found


def _guess(texts: Iterable[str], what: str) -> str:
    votes = Counter(detect_language(chunk, _MIN_CONFIDENCE) for chunk in islice(_chunks(texts), _MAX_CHUNKS))
    votes.pop(UNKNOWN_LANGUAGE, None)
    if not votes:
        raise BadInput(
            f"the language of the {what} cannot be guessed; give it with --lang (en, or en-de for English queries and "
            "German documents)"
        )
    return votes.most_common(1)[0][0]


def _chunks(texts: Iterable[str]) -> Iterator[str]:
    chunk: list[str] = []
    n_letters = 0
    for text in texts:
        chunk.append(text[:_TEXT_LETTERS])
        n_letters += len(chunk[-1])
        if n_letters >= _CHUNK_LETTERS:
            yield "\n".join(chunk)
            chunk, n_letters = [], 0
    if chunk:
        yield "\n".join(chunk)
