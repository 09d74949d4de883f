"""PyTerrier's own operators call the transformer; run by `tests/clients/test_frameworks.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyterrier", reason="run by tests/clients/test_frameworks.py")
import pandas as pd
import pyterrier as pt

from reranker.adapters.pyterrier import SinkrankTransformer
from reranker.base.errors import BadInput
from reranker.ranking.reranker import Reranker
from tests.adapters.conftest import BEST_SCORE, MANY, TEXTS, Observed
from tests.support.tiny import write_embeddings


@pytest.fixture
def results() -> Any:
    """Of two queries, in a retriever's order."""
    rows = [
        {"qid": qid, "query": query, "docno": f"d{place}", "text": text, "score": -place, "rank": place}
        for qid, query in (("q1", "cat"), ("q2", "car"))
        for place, text in enumerate(TEXTS)
    ]
    return pd.DataFrame(rows)


def of(frame: Any, qid: str) -> list[tuple[str, int]]:
    rows = frame[frame.qid == qid]
    return list(zip(rows.docno, rows["rank"], strict=True))


def test_each_query_is_ranked_by_itself(reranker: Reranker, results: Any) -> None:
    ranked = SinkrankTransformer(reranker)(results)
    assert of(ranked, "q1") == [("d1", 0), ("d2", 1), ("d0", 2), ("d3", 3)]
    # Cosines with car (0, -1): voiture 0.96, chat -0.28, chien -0.8.
    assert of(ranked, "q2") == [("d0", 0), ("d1", 1), ("d2", 2), ("d3", 3)]
    assert ranked.score[0] == pytest.approx(BEST_SCORE, abs=1e-6)
    assert set(ranked.columns) == set(results.columns)


def test_it_is_a_stage_among_others(reranker: Reranker, results: Any) -> None:
    pipeline = pt.Transformer.from_df(results) >> SinkrankTransformer(reranker) % 1
    topics = pd.DataFrame([{"qid": "q1", "query": "cat"}])
    assert of(pipeline(topics), "q1") == [("d1", 0)]


def test_an_empty_frame_stays_empty_with_its_columns(reranker: Reranker, results: Any) -> None:
    ranked = SinkrankTransformer(reranker)(results.iloc[:0].drop(columns=["score", "rank"]))
    assert len(ranked) == 0
    assert {"score", "rank"} <= set(ranked.columns)


def test_a_frame_without_texts_says_how_to_get_them(reranker: Reranker, results: Any) -> None:
    with pytest.raises(BadInput, match=r"no column text .*get_text"):
        SinkrankTransformer(reranker)(results.drop(columns="text"))


def test_rows_of_a_query_without_an_id_are_ranked_too(reranker: Reranker, results: Any) -> None:
    with_ids = SinkrankTransformer(reranker)(results)
    results["qid"] = None
    ranked = SinkrankTransformer(reranker)(results)
    assert ranked[["query", "docno", "rank"]].values.tolist() == with_ids[["query", "docno", "rank"]].values.tolist()


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_text_has_no_word(missing: Any, tmp_path: Path) -> None:
    words = {"cat": (1.0, 0.0), "dog": (0.8, 0.6), "none": (1.0, 0.0), "nan": (1.0, 0.0), "na": (1.0, 0.0)}
    reranker = Reranker(write_embeddings(tmp_path / "embeddings", {"en": words}))
    rows = [("q1", "cat", "a", missing), ("q1", "cat", "b", "dog")]
    ranked = SinkrankTransformer(reranker)(pd.DataFrame(rows, columns=["qid", "query", "docno", "text"]))
    assert of(ranked, "q1") == [("b", 0), ("a", 1)]


def test_the_best_few_are_asked_of_the_reranker(observed: Observed) -> None:
    rows = [{"qid": "q1", "query": "cat", "docno": f"d{n}", "text": text} for n, text in enumerate(MANY)]
    ranked = SinkrankTransformer(observed.reranker, top_n=3, language="en")(pd.DataFrame(rows))
    assert list(ranked.text) == ["un chat"] * 3
    assert observed.kept() == 3
