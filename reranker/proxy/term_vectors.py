"""Reads the words of documents out of an engine's term vectors, where the index keeps no `_source`.

Term vectors hold what the field's analyzer made of the text. A stemming analyzer makes `parl` of `parle`, which no
vocabulary of words holds, so its fields are left out. Whether it stems is asked of the engine itself: `_analyze` is
given words of each language of the embeddings, and an analyzer that gives back other words than these is not used.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from reranker.embeddings import Embeddings
from reranker.text.normalization import normalize_term
from reranker.text.tokens import MAX_TOKENS
from reranker.upstream.calls import EngineCalls, Fallback

# How long an analyzer is taken to be what it was.
TRUST_S = 300.0
_MAX_KNOWN_FIELDS = 10_000
# Enough that a stemmer of any language changes one: it changes about every second word of five letters or more.
_WORDS_A_LANGUAGE = 20
_LEAST_LETTERS = 5
_AMONG_THE_FIRST = 2_000


class TermVectors:
    """Asks for term vectors; safe to share between threads."""

    def __init__(self, embeddings: Embeddings, clock: Callable[[], float] = time.monotonic) -> None:
        self._words = _probe_words(embeddings)
        self._clock = clock
        self._known: dict[tuple[str, str], tuple[float, bool]] = {}
        self._lock = threading.Lock()

    def texts(self, hits: Sequence[Mapping[str, Any]], fields: Sequence[str], calls: EngineCalls) -> list[str | None]:
        """Each hit's words in their order, parted by blanks; None where the index has no usable term vectors.

        Args:
            fields: to read, `*` for any part of a name; all that have term vectors where there are none.

        Raises:
            Fallback: the engine does not answer.
        """
        if not hits:
            return []
        documents = [_document(hit) for hit in hits]
        parameters = {"fields": list(fields) or ["*"], "offsets": False, "payloads": False, "field_statistics": False}
        body = {"docs": [{**document, **parameters} for document in documents]}
        answer = calls.ask_object("/_mtermvectors", body)
        found = answer.get("docs")
        if not isinstance(found, list) or len(found) != len(hits):
            raise Fallback("answer_not_json", "the engine's answer holds no term vectors")
        return [self._text(str(hit.get("_index")), one, calls) for hit, one in zip(hits, found, strict=True)]

    def _text(self, index: str, document: Any, calls: EngineCalls) -> str | None:
        vectors = document.get("term_vectors") if isinstance(document, Mapping) else None
        if not isinstance(vectors, Mapping):
            return None
        words = [
            " ".join(_in_order(vector)) for name, vector in vectors.items() if self._keeps_words(index, name, calls)
        ]
        return "\n".join(words) if words else None

    def _keeps_words(self, index: str, field: str, calls: EngineCalls) -> bool:
        """Whether the field's analyzer gives words back as they are, or leaves them out."""
        now = self._clock()
        with self._lock:
            asked_at, keeps = self._known.get((index, field), (-TRUST_S, False))
        if now - asked_at < TRUST_S:
            return keeps
        answer = calls.ask_object(
            f"/{quote(index, safe='')}/_analyze", {"field": field, "text": " ".join(sorted(self._words))}
        )
        tokens = answer.get("tokens")
        given = {normalize_term(str(one.get("token"))) for one in tokens} if isinstance(tokens, list) else set()
        keeps = bool(given) and given <= self._words
        with self._lock:
            if len(self._known) >= _MAX_KNOWN_FIELDS:
                self._known.clear()
            self._known[index, field] = (now, keeps)
        return keeps


def _document(hit: Mapping[str, Any]) -> dict[str, Any]:
    routing = hit.get("_routing")
    document = {"_index": hit.get("_index"), "_id": hit.get("_id")}
    return document if routing is None else {**document, "routing": routing}


def _in_order(vector: Any) -> list[str]:
    """A field's terms by their first positions, each as often as it occurs."""
    terms = vector.get("terms") if isinstance(vector, Mapping) else None
    placed: list[tuple[int, str]] = []
    for term, facts in terms.items() if isinstance(terms, Mapping) else ():
        tokens = facts.get("tokens") if isinstance(facts, Mapping) else None
        if isinstance(tokens, list) and tokens:
            placed += [(int(token.get("position", 0)), term) for token in tokens]
        else:
            placed += [(0, term)] * min(MAX_TOKENS, int(facts.get("term_freq", 1)))
    return [term for _, term in sorted(placed)]


def _probe_words(embeddings: Embeddings) -> frozenset[str]:
    """Common words of each language, long enough to have an ending."""
    words: list[str] = []
    for language in embeddings.languages:
        found: list[str] = []
        for term_id in embeddings.vocabulary.term_ids(language)[:_AMONG_THE_FIRST]:
            _, term = embeddings.vocabulary.term(int(term_id))
            if len(term) >= _LEAST_LETTERS:
                found.append(term)
            if len(found) == _WORDS_A_LANGUAGE:
                break
        words += found
    return frozenset(words)
