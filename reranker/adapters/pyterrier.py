"""PyTerrier's transformer: the second stage of a pipeline such as `bm25 >> pt.text.get_text(dataset) >> sinkrank`."""

from __future__ import annotations

from typing import Any

from reranker.adapters.ranking import rank_texts
from reranker.base.errors import BadInput
from reranker.base.extras import extra
from reranker.ranking.reranker import Reranker

with extra("pyterrier", "this adapter"):
    import pandas as pd
    import pyterrier as pt

_NEEDED = ("qid", "query", "docno")


class SinkrankTransformer(pt.Transformer):
    """Gives each row of a result frame our score and rank.

    Reads the columns qid, query, docno and the one with the text, and writes score and rank (from 0, as PyTerrier
    has it); ties keep the order of the rows. `top_n` keeps the best rows of each query alone, which a cutoff behind
    it (`sinkrank % 10`) does too, but after all were solved for.
    """

    def __init__(
        self,
        reranker: Reranker,
        *,
        text_field: str = "text",
        language: str | None = None,
        method: str = "auto",
        top_n: int | None = None,
    ) -> None:
        self.reranker = reranker
        self.text_field = text_field
        self.language = language
        self.method = method
        self.top_n = top_n

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """
        Raises:
            BadInput: a column is missing.
        """
        absent = [name for name in (*_NEEDED, self.text_field) if name not in inp.columns]
        if absent:
            raise BadInput(
                f"the frame has no column {', '.join(absent)} (it has {', '.join(map(str, inp.columns))}); put "
                f"pt.text.get_text before this transformer, or name the text's column with text_field"
            )
        ranked = [self._rank(frame) for _, frame in inp.groupby(["qid", "query"], sort=False, dropna=False)]
        if not ranked:
            return inp.assign(score=pd.Series(dtype=float), rank=pd.Series(dtype=int))
        return pd.concat(ranked, ignore_index=True)

    def _rank(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows of one query in their new order."""
        texts = [_text(value) for value in frame[self.text_field]]
        query = _text(frame["query"].iloc[0])
        places = rank_texts(
            self.reranker,
            query,
            texts,
            language=self.language,
            method=self.method,
            top_n=self.top_n,
        )
        ordered = frame.iloc[[place for place, _ in places]]
        return ordered.assign(score=[score for _, score in places], rank=range(len(places)))


def _text(value: Any) -> str:
    """Of a cell; nothing where it is missing."""
    return "" if pd.isna(value) else str(value)
