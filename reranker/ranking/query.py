"""Reads a query: its language, its words with and without an embedding, and their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from reranker.base.errors import BadInput, EmptyQuery, UnknownWords
from reranker.embeddings import Embeddings
from reranker.embeddings.detection import guess_and_tie
from reranker.embeddings.query_encoder import QueryEncoding
from reranker.ranking.query_stems import QueryStems
from reranker.ranking.unknown_terms import unknown_share
from reranker.text.bags import WeightedBag
from reranker.text.idf import IdfTable
from reranker.text.languages import language_code
from reranker.text.tokens import MAX_QUERY_TOKENS, letter_tokens, tokenize
from reranker.transport.problem import check_query

# Of a word within a number: `utf8` is about utf, and no `h` is meant by h264.
_LEAST_LETTERS = 3


@dataclass(frozen=True, eq=False)
class Query:
    """A query's words, and their weights.

    Attributes:
        idf: the document frequencies that weigh them; `embeddings`: theirs.
        unknown_words: the tokens that take no embedding, numbers among them, in reading order.
        unknown_share: of all tokens, 0 to 1 (`unknown_terms.unknown_share`).
        tokens: all of them, in reading order.
        is_tie: the language was guessed, and others know as many of the words.
        encoding: of its text by the sentence encoder of the embeddings; None where they have none for its language.
    """

    text: str
    language: str
    idf: IdfTable
    embeddings: Embeddings
    unknown_words: tuple[str, ...]
    unknown_share: float = 0.0
    tokens: tuple[str, ...] = ()
    is_tie: bool = False
    encoding: QueryEncoding | None = None

    @cached_property
    def weighted(self) -> WeightedBag:
        """The known words. They are counted and weighed when somebody first asks for them: another re-ranker may weigh
        them by other frequencies, and a search be under way meanwhile."""
        return self.idf.weigh(self.embeddings.bag_of_tokens(self.tokens, self.language), self.language)

    @cached_property
    def checked(self) -> WeightedBag:
        """The same, once the embeddings of these words were looked at.

        Raises:
            EmptyQuery, BadEmbeddings: as `check_query`.
        """
        check_query(self.weighted, self.embeddings.vectors)
        return self.weighted

    @cached_property
    def stems(self) -> QueryStems:
        """Of its tokens."""
        return QueryStems(self.tokens, self.language, self.embeddings)

    @property
    def n_words(self) -> int:
        """Distinct words, known or not."""
        return len(self.weighted) + len(set(self.unknown_words))


def read_query(
    text: str, language: str | None, embeddings: Embeddings, idf: IdfTable, preferred_languages: Sequence[str]
) -> Query:
    """Reads a query; where no word has an embedding it weighs nothing.

    Args:
        language: guessed where it is None.
        preferred_languages: the likeliest first; they decide where several languages know as many of its words.

    Raises:
        BadInput: it is no text.
        EmptyQuery: no letter or digit in the text.
        UnknownLanguage: the language is not a code.
    """
    if not isinstance(text, str):
        raise BadInput(f"the query is of type {type(text).__name__}; give a text")
    is_tie = False
    if language is None:
        language, is_tie = guess_and_tie(text, embeddings, preferred_languages)
    else:
        language = language_code(language)
    # A query of nothing but stop words is taken at its word.
    tokens = tokenize(text, language, MAX_QUERY_TOKENS)
    tokens = tokens or tokenize(text, language, MAX_QUERY_TOKENS, with_stop_words=True)
    if not tokens:
        raise EmptyQuery("the query has no word or number; give it at least one")
    unknown = tuple(token for token in tokens if not embeddings.stand_ins(language, token))
    if len(unknown) == len(tokens) and language in embeddings.languages:
        # Rather than find nothing: the words within its numbers (`internet2`).
        words = letter_tokens(text, language, MAX_QUERY_TOKENS)
        tokens += [word for word in words if _is_known_part(language, word, embeddings)]
    encoding = embeddings.query_encoding(text, language)
    share = unknown_share(tokens, unknown)
    return Query(text, language, idf, embeddings, unknown, share, tuple(tokens), is_tie, encoding)


def check_known_words(query: Query, embeddings: Embeddings, has_language: bool) -> None:
    """
    Args:
        has_language: the caller named the query's language.

    Raises:
        UnknownWords: no word of the query has an embedding.
    """
    if len(query.unknown_words) < len(query.tokens):
        return
    held = ", ".join(embeddings.languages)
    where = f"language {query.language!r}" if has_language else f"any language here ({held})"
    raise UnknownWords(
        f"none of the query's words ({', '.join(query.unknown_words[:5])}) has an embedding in {where}; use "
        f"other words, name the language they are in (of {held}), or make embeddings that hold their language: "
        "`sinkrank embeddings prepare` with documents in it, or `sinkrank embeddings fetch`"
    )


def _is_known_part(language: str, word: str, embeddings: Embeddings) -> bool:
    return len(word) >= _LEAST_LETTERS and embeddings.term_id(language, word) is not None
