"""The benchmark of the kernels replaces one piece at a time, in a copy of its own."""

import sys

import numpy as np
import pytest

import reranker.transport.problem
from benchmarks import kernels
from benchmarks.workload import clustered_embeddings
from reranker.transport.kernels import cost_tables


@pytest.fixture(scope="module")
def embeddings():
    return clustered_embeddings(1000, np.random.default_rng(0))


def test_both_forms_of_a_piece_are_called_and_agree(embeddings):
    called = []

    def by_numpy(term_ids, offsets, first, max_terms, n_terms):
        called.append(len(offsets))
        terms, index = np.unique(term_ids, return_inverse=True)
        return len(offsets) - 1, terms, index.astype(np.int32)

    piece = kernels.Piece("", lambda _: {"kernels.cost_tables.deduplicate": by_numpy}, "rwmd", sizes=((5, 8),))
    before = sys.modules["reranker.transport.problem"]
    (found,) = kernels.compare(piece, embeddings, rounds=2, seed=0)
    assert called == [9] * 3  # once to compare the values, and once in each of two rounds
    assert found["difference"] == 0
    assert found["ratio"] > 0
    assert sys.modules["reranker.transport.problem"] is before
    assert reranker.transport.problem is before
    assert cost_tables.deduplicate is not by_numpy


def test_a_piece_whose_code_is_gone_is_an_error():
    with pytest.raises(AttributeError, match=r"kernels\.scaling\.gone"):
        kernels.Modules(lambda _: {"kernels.scaling.gone": None})


@pytest.mark.parametrize("piece", kernels.PIECES, ids=lambda piece: piece.name.split(" /")[0])
def test_every_piece_is_still_there(piece):
    kernels.Modules(piece.replacing)
