"""Searches an index of the engine that Sinkrank did not make, and explains its hits: through the proxy in this process,
so that the hits, their order and their scores are those that callers of the proxy get."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reranker.answers.explanation import ExplainAnswer
from reranker.answers.search import Hit, ScoreParts, SearchAnswer
from reranker.embeddings import Embeddings
from reranker.embeddings.detection import guess_language
from reranker.query_dsl.source_texts import source_text
from reranker.ranking.query import read_query
from reranker.ranking.scores import scores_by_rank
from reranker.search.searcher import Searcher
from reranker.service.settings import Settings
from reranker.service.settings_sources import LoadedSettings
from reranker.text.idf import IdfTable
from sinkrank.actions import in_process_proxy
from sinkrank.console import output
from sinkrank.evaluation.known_queries import documents_of_hits

if TYPE_CHECKING:
    from sinkrank.evaluation.proxy_way import ProxyIndex

_DURATION = re.compile(r"(\w+);dur=([\d.]+)")


@contextmanager
def opened(loaded: LoadedSettings, searcher: Searcher, template: Path | None) -> Iterator[EngineSearch | None]:
    """What searches the index of the settings through the proxy; None where no template is given and Sinkrank made the
    index.

    Raises:
        StoreUnavailable, WrongParameter, BadInput, NotFound: as `in_process_proxy.is_proxied` and `opened_index`.
    """
    settings = loaded.settings
    if not in_process_proxy.is_proxied(loaded, searcher.store, template):
        yield None
        return
    # A service keeps no method `none`: single searches do.
    patient = settings.model_copy(update={"proxy_budget_ms": in_process_proxy.PATIENT_MS, "method": "auto"})
    index = in_process_proxy.opened_index(patient, searcher.store, searcher.embeddings, template)
    yield EngineSearch(settings, searcher.embeddings, index)


class EngineSearch:
    """Searches one index."""

    def __init__(self, settings: Settings, embeddings: Embeddings, index: ProxyIndex) -> None:
        self._settings = settings
        self._embeddings = embeddings
        self._index = index

    def search(
        self, text: str, language: str | None, languages: Sequence[str] | None, offset: int, size: int
    ) -> SearchAnswer:
        """A page of hits, once it has learned. If the engine's order stays, standard error says why.

        Raises:
            SinkrankError: the engine or the proxy refuses the search.
        """
        body = self._body(text, language, languages) | {"from": offset, "size": size}
        answer, headers = self._index.ask(body)
        if headers.get("x-rerank-status") != "applied" and self._settings.method != "none":
            reason = headers.get("x-rerank-reason", "not re-ranked")
            output.talk().print(f"the engine's order stays: {reason}")
        found = answer["hits"]
        section = answer.get("ext", {}).get("rerank", {})
        query = read_query(text, section.get("language", language), self._embeddings, IdfTable(), ())
        hits = [self._hit(hit, rank, query.language) for rank, hit in enumerate(found["hits"], start=offset + 1)]
        reranking: Mapping[str, Any] = next((hit["_rerank"] for hit in found["hits"] if "_rerank" in hit), {})
        durations = {name: float(ms) for name, ms in _DURATION.findall(headers.get("server-timing", ""))}
        engine_ms, rerank_ms = durations.get("engine", float(answer["took"])), durations.get("rerank", 0.0)
        total = found.get("total", len(hits))
        return SearchAnswer(
            hits=hits,
            index=self._index.name,
            n_candidates=total["value"] if isinstance(total, dict) else total,
            n_reranked=section.get("n_reranked", 0),
            language=query.language,
            first_stage="engine",
            method=reranking.get("method", "none"),
            precision=reranking.get("precision", "none"),
            n_converged=None,
            has_feedback=reranking.get("has_feedback", False),
            unknown_words=list(query.unknown_words),
            took_ms={"first_stage": engine_ms, "rerank": rerank_ms, "total": round(engine_ms + rerank_ms, 3)},
        )

    def explain(self, text: str, language: str | None, languages: Sequence[str] | None, doc_id: str) -> ExplainAnswer:
        """Raises SinkrankError: as `Proxy.explain`."""
        return self._index.explain(self._body(text, language, languages), doc_id)

    def _body(self, text: str, language: str | None, languages: Sequence[str] | None) -> dict[str, Any]:
        """The other parameters are the settings', which the proxy has too."""
        section = {"method": self._settings.method, "window_size": self._settings.depth, "details": True}
        named = {"language": language, "languages": list(languages or ()) or None}
        body = self._index.template.search(text, section | {name: value for name, value in named.items() if value})
        if self._settings.method != "none":
            self._index.learn(lambda: self._index.ask(body | {"size": 1}))
        return body

    def _hit(self, hit: Mapping[str, Any], rank: int, query_language: str) -> Hit:
        source, details = hit.get("_source") or {}, hit.get("_rerank") or {}
        text = source_text(source, self._settings.proxy_text_fields)
        parts = details.get("score_parts")
        return Hit(
            id=str(hit["_id"]),
            title=next(documents_of_hits([hit])).title,
            url=source["url"] if isinstance(source.get("url"), str) else "",
            language=self._embeddings.document_language or guess_language(text, self._embeddings, (query_language,)),
            text=text,
            metadata=source,
            score=hit["_score"] if details else scores_by_rank(rank, 1)[0],
            distance=details.get("distance"),
            rank=details.get("rank", rank),
            first_stage_score=details.get("first_stage_score", hit.get("_score")) or 0.0,
            first_stage_rank=details.get("first_stage_rank", rank),
            without_known_word=details.get("without_known_word", False),
            score_parts=None if parts is None else ScoreParts(**parts),
            order_distance=details.get("order_distance"),
            hubness=details.get("hubness"),
            lacking_words=details.get("lacking_words", []),
        )
