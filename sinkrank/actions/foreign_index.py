"""Checks an index that Sinkrank did not make: whether the proxy can re-rank it, and which fields it reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reranker.base.errors import SinkrankError
from reranker.embeddings import Embeddings
from reranker.proxy.index_statistics import (
    MIN_DOCUMENTS,
    SAMPLE_DOCUMENTS,
    SampleStatistics,
    joined_idf,
    sample_statistics,
)
from reranker.query_dsl.source_texts import named_strings, source_text
from reranker.service.settings import Settings
from reranker.service.settings_sources import where_to_set
from reranker.stores.engine.fields import TEXT_TYPES, mapped_fields
from reranker.stores.engine.store import EngineStore
from sinkrank.actions import in_process_proxy
from sinkrank.evaluation.proxy_way import ProxyIndex, outcome_of
from sinkrank.evaluation.query_template import QueryTemplate

# If more than half of the words are unknown, the order depends on a few of the words.
_MOST_UNKNOWN = 0.5
_MANY_UNKNOWN = 0.2
_MAX_LISTED = 8
_TEXT_FIELDS = "proxy_text_fields"
_LEAST_SHARE = 0.01


def look_at(settings: Settings, store: EngineStore, index: str, embeddings: Embeddings) -> tuple[bool, str]:
    """Whether searches of the index are re-ranked well, and a text with the findings and then the advice.

    Raises:
        SinkrankError: the index cannot be read.
    """
    hits = list(store.sample(index, (), SAMPLE_DOCUMENTS))
    if not hits:
        return False, "not made by Sinkrank; it has no readable document; add documents, then run this again"
    fields = settings.proxy_text_fields
    sources = [hit["_source"] for hit in hits if isinstance(hit.get("_source"), Mapping)]
    statistics = sample_statistics((source_text(source, fields) for source in sources), embeddings)
    letters = _letters_by_field(sources)
    texts = {
        name
        for mappings in store.mappings(index)
        for name, field in mapped_fields(mappings).items()
        if field.get("type") in TEXT_TYPES
    }
    with_text = [hit for hit in hits if source_text(hit.get("_source"), fields)]
    status = _probe(settings, store, index, embeddings, [hit["_id"] for hit in with_text or hits])
    found = [
        "not made by Sinkrank, so the proxy reads its texts",
        f"`_source` in {len(sources):,} of {len(hits):,} sampled documents",
        *_fields_read(letters, fields, texts),
        *_words(statistics),
        f"a search through the proxy: {status}",
    ]
    advice = list(_advice(statistics, letters, fields, texts, embeddings, bool(sources)))
    is_sound = status == "applied" and statistics.unknown_share <= _MOST_UNKNOWN
    return is_sound, "; ".join([*found, *advice])


def _letters_by_field(sources: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """The number of letters in the strings of each field, the longest first."""
    letters: Counter[str] = Counter()
    for source in sources:
        for name, text in named_strings(source):
            letters[name] += len(text)
    return Counter(dict(letters.most_common()))


def _fields_read(letters: Counter[str], fields: Sequence[str], texts: set[str]) -> Iterator[str]:
    total = letters.total()
    displayed = [
        f"{name} {n / total:.0%}{'' if name in texts else ' (no text field)'}"
        for name, n in letters.most_common(_MAX_LISTED)
        if n >= _LEAST_SHARE * total
    ]
    more = f" and {len(letters) - len(displayed)} more" if len(letters) > len(displayed) else ""
    yield f"read: {', '.join(fields)} (proxy_text_fields)" if fields else "proxy_text_fields is not set"
    if displayed:
        yield f"letters by field: {', '.join(displayed)}{more}"


def _words(statistics: SampleStatistics) -> Iterator[str]:
    if statistics.n_documents:
        shares = ", ".join(
            f"{code} {share:.0%}" for code, share in statistics.languages.items() if share >= _LEAST_SHARE
        )
        yield f"languages {shares}"
        yield f"{statistics.unknown_share:.1%} of the words without an embedding"


def _advice(
    statistics: SampleStatistics,
    letters: Counter[str],
    fields: Sequence[str],
    texts: set[str],
    embeddings: Embeddings,
    has_sources: bool,
) -> Iterator[str]:
    """Advice, the most important first."""
    prose = [name for name in letters if name in texts]
    if not has_sources:
        yield "keep `_source`: the text of its hits is read from it"
    elif not statistics.n_documents:
        named = prose or list(letters)
        cure = f"set {where_to_set(_TEXT_FIELDS, named[:_MAX_LISTED])}" if named else "add documents with text"
        yield f"no document has text in the fields that are read: {cure}"
    elif statistics.unknown_share > _MANY_UNKNOWN:
        yield (
            f"many words are unknown: these embeddings know {', '.join(embeddings.languages)}; import or train some "
            "for the index's language and subject (`sinkrank embeddings import`), or name the fields of its prose, "
            f"such as {where_to_set(_TEXT_FIELDS, (prose or list(letters))[:1])}"
        )
    others = [name for name, n in letters.items() if name not in texts and n >= _LEAST_SHARE * letters.total()]
    if not fields and others and prose:
        yield f"to leave out {', '.join(others)}, set {where_to_set(_TEXT_FIELDS, prose[:_MAX_LISTED])}"
    if statistics.n_documents and not joined_idf([statistics]).languages:
        yield f"under {MIN_DOCUMENTS} documents of a language are too few to learn how rare words are"


def _probe(settings: Settings, store: EngineStore, index: str, embeddings: Embeddings, doc_ids: Sequence[str]) -> str:
    """Status and reason of a search with a known word that finds some of these documents."""
    try:
        in_process_proxy.check_engine(settings, store)
    except SinkrankError as error:
        return str(error)
    patient = settings.model_copy(update={"proxy_budget_ms": in_process_proxy.PATIENT_MS, "proxy_learn_weights": False})
    proxy = in_process_proxy.proxy_of(patient, store, embeddings)
    language = embeddings.languages[0]
    _, word = embeddings.vocabulary.term(int(embeddings.vocabulary.term_ids(language)[0]))
    rerank = {"query_context": {"query_text": word}, "language": language, "method": "nbow", "window_size": 20}
    asked = ProxyIndex(
        proxy, index, QueryTemplate({"query": {"ids": {"values": doc_ids}}}), in_process_proxy.caller_headers(settings)
    )
    try:
        _, headers = asked.ask(asked.template.search(word, rerank) | {"size": 10})
    except SinkrankError as error:
        cure = f"set {where_to_set('store_username', 'NAME')} (and store_password; or store_api_key alone)"
        return f"refused with {error.http_status}; {cure}"
    return outcome_of(headers)
