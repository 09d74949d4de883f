"""Cr5, LSI, mSDA, counting grids and BM25 of one language: worked out on paper, and beside other implementations."""

from __future__ import annotations

from collections.abc import Callable
from math import log

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from papers.corpora.tasks import Direction
from papers.systems.bm25 import MonolingualBM25
from papers.systems.counting_grid import CountingGrid, membership
from papers.systems.cr5 import Cr5, regress
from papers.systems.latent import (
    LatentSystem,
    Lsi,
    MarginalisedAutoencoder,
    Representation,
    restoring_weights,
)
from papers.tests.small_tasks import EN_EN, FR_EN, small_task
from reranker.base.errors import BadInput
from tests.demo.small_pages import page

# Cr5


def test_words_of_one_concept_come_to_lie_together_and_those_of_others_at_a_right_angle() -> None:
    cr5 = Cr5(rank=2)
    cr5.fit([page("1", "en", "cat"), page("2", "en", "nail"), page("1", "fr", "chat"), page("2", "fr", "clou")])
    found = cr5.distances(small_task(["chat", "clou", "zut"], ["cat", "nail cat"], [""]))

    # Each page is a unit vector of its own, so W = I / (1 + ridge): each embedding is half a concept's axis.
    assert found.values[:2] == pytest.approx(np.array([[0, 1 - 1 / np.sqrt(2)], [1, 1 - 1 / np.sqrt(2)]]), abs=1e-9)
    assert np.isinf(found.values[2]).all()


@pytest.fixture(scope="module")
def documents() -> list[tuple[csr_matrix, np.ndarray]]:
    """Two languages of 7 and 5 words; concepts 0 to 5, of which the second language lacks one."""
    draw = np.random.default_rng(8)
    return [
        (csr_matrix(draw.random((6, 7))), np.array([0, 1, 2, 3, 4, 5])),
        (csr_matrix(draw.random((5, 5))), np.array([5, 1, 0, 3, 4])),
    ]


def test_with_less_rank_it_is_the_best_low_rank_fit_of_the_whole_system(
    documents: list[tuple[csr_matrix, np.ndarray]],
) -> None:
    ridge, rank = 0.7, 2
    found = np.vstack(regress(documents, 6, rank, ridge))

    # Rows that stand for the penalty, sqrt(ridge) · I against 0, make it a plain regression; of that the best fit of
    # rank r is the full one, projected on its first r right singular vectors (Mukherjee and Zhu 2011).
    x = np.block([[documents[0][0].toarray(), np.zeros((6, 5))], [np.zeros((5, 7)), documents[1][0].toarray()]])
    y = np.eye(6)[np.concatenate([concepts for _, concepts in documents])]
    extended = np.vstack([x, np.sqrt(ridge) * np.eye(12)])
    full = np.linalg.lstsq(extended, np.vstack([y, np.zeros((12, 6))]), rcond=None)[0]
    axes = np.linalg.svd(extended @ full)[2][:rank].T
    assert found @ found.T == pytest.approx(full @ axes @ axes.T @ full.T)


def test_cr5_says_what_it_lacks() -> None:
    with pytest.raises(RuntimeError, match="call fit first"):
        Cr5().distances(small_task(["chat"], ["cat"], [""]))
    with pytest.raises(BadInput, match="there are none"):
        Cr5().fit([])
    cr5 = Cr5()
    cr5.fit([page("1", "en", "cat"), page("2", "en", "dog")])
    with pytest.raises(BadInput, match="no page in 'fr'; it knows en"):
        cr5.distances(small_task(["chat"], ["cat"], [""]))


# Texts of one language


@pytest.mark.parametrize("make", [Lsi, MarginalisedAutoencoder, CountingGrid])
def test_a_learned_representation_puts_texts_of_one_matter_together(make: Callable[[], Representation]) -> None:
    draw = np.random.default_rng(1)
    matters = [["cat", "dog", "milk", "fur", "paw", "tail"], ["nail", "screw", "wood", "hammer", "saw", "drill"]]
    pages = [page(str(n), "en", " ".join(draw.choice(matters[n % 2], 8))) for n in range(60)]
    system = LatentSystem("it", make(), [EN_EN])
    system.fit(pages)
    texts = [each.text for each in pages[:10]]
    values = system.distances(small_task([*texts, "unheard"], texts, texts, EN_EN)).values

    same = np.arange(10)[:, None] % 2 == np.arange(10)[None, :] % 2
    assert values[:10][same].mean() < 0.7 * values[:10][~same].mean()
    assert np.isinf(values[10]).all()
    assert np.diag(values[:10]) == pytest.approx(np.zeros(10), abs=1e-5)


def test_a_system_of_one_language_refuses_two() -> None:
    for make in (lambda: LatentSystem("lsi", Lsi(), [FR_EN]), lambda: MonolingualBM25([FR_EN])):
        with pytest.raises(BadInput, match="texts of one language, not of en, fr"):
            make()
    with pytest.raises(BadInput, match="training pages in 'fi', and there are none"):
        LatentSystem("lsi", Lsi(), [Direction("fi", "fi")]).fit([page("1", "en", "cat")])


def test_lsi_is_the_singular_value_decomposition_of_numpy() -> None:
    draw = np.random.default_rng(4)
    counts = draw.integers(0, 4, (9, 6)).astype(float)
    lsi = Lsi(n_dimensions=3)
    lsi.fit(csr_matrix(counts))
    axes = np.linalg.svd(counts)[2][:3].T

    found, expected = lsi.represent(csr_matrix(counts)), counts @ axes
    assert found @ found.T == pytest.approx(expected @ expected.T)


def test_msda_restores_a_word_from_one_that_always_stands_beside_it() -> None:
    # Two words, always together, in half of 2n texts: E[Q] / n = ((.5, .25, .5), (.25, .5, .5), (.5, .5, 2)) and
    # E[P] / n = (.5, .5, 1) for both, so that W (E[Q] / n) = (.5, .5, 1) gives W = (w, w, c):
    # .75 w + .5 c = .5 and w + 2 c = 1, hence w = 1/2, c = 1/4.
    values = np.vstack([np.ones((500, 2)), np.zeros((500, 2))])
    assert restoring_weights(values, 0.5) == pytest.approx(np.array([[0.5, 0.5, 0.25]] * 2), abs=1e-5)


def test_msda_is_what_regression_on_many_corrupted_copies_tends_to() -> None:
    draw = np.random.default_rng(6)
    values = draw.random((40, 3))
    copies = np.vstack([values] * 3000)
    corrupted = np.hstack([copies * (draw.random(copies.shape) < 0.7), np.ones((len(copies), 1))])
    expected = np.linalg.lstsq(corrupted, copies, rcond=None)[0].T

    assert restoring_weights(values, 0.3) == pytest.approx(expected, abs=0.02)


def test_windows_of_a_grid_go_over_its_edges() -> None:
    # Cells of a 3 × 3 grid by rows; the window at the last cell has that, its row's first, and the two above all.
    assert membership(3, 2)[8].tolist() == [0.25, 0, 0.25, 0, 0, 0, 0.25, 0, 0.25]
    assert membership(3, 2).sum(axis=1) == pytest.approx(np.ones(9))


def test_a_grid_of_one_cell_has_the_shares_of_the_words() -> None:
    grid = CountingGrid(side=1, window=1)
    counts = csr_matrix(np.array([[2.0, 1.0], [1.0, 0.0]]))
    grid.fit(counts)

    assert grid.cells == pytest.approx(np.array([[0.75, 0.25]]))
    assert grid.represent(counts) == pytest.approx(np.ones((2, 1)))


def test_learning_a_grid_shares_each_word_among_the_windows_and_cells_that_may_have_given_it() -> None:
    counts = csr_matrix(np.random.default_rng(5).poisson(1.0, (4, 6)).astype(float))
    before, after = CountingGrid(side=3, window=2, n_steps=0), CountingGrid(side=3, window=2, n_steps=2)
    before.fit(counts)
    after.fit(counts)

    # The cells of each window, by row and column.
    windows = [
        [3 * ((row + down) % 3) + (column + right) % 3 for down in (0, 1) for right in (0, 1)]
        for row in range(3)
        for column in range(3)
    ]
    mixtures, cells = np.full((4, 9), 1 / 9), before.cells
    for _ in range(2):
        by_text, by_cell = np.zeros((4, 9)), np.zeros((9, 6))
        for (text, word), n in zip(np.argwhere(counts.toarray()), counts.data, strict=True):
            given = np.zeros((9, 9))
            for window, held in enumerate(windows):
                given[window, held] = mixtures[text, window] * cells[held, word]
            given *= n / given.sum()
            by_text[text] += given.sum(axis=1)
            by_cell[:, word] += given.sum(axis=0)
        mixtures = by_text / by_text.sum(axis=1, keepdims=True)
        cells = by_cell / by_cell.sum(axis=1, keepdims=True)
    assert after.cells == pytest.approx(cells)


def test_each_step_of_learning_a_grid_makes_the_texts_more_likely() -> None:
    counts = csr_matrix(np.random.default_rng(2).poisson(0.8, (30, 12)).astype(float))
    reached = []
    for n_steps in (1, 2, 4, 8, 16, 32):
        grid = CountingGrid(side=5, window=2, n_steps=n_steps, n_text_steps=400)
        grid.fit(counts)
        reached.append(_log_likelihood(grid, counts))
    assert np.diff(reached).min() > 0


def _log_likelihood(grid: CountingGrid, counts: csr_matrix) -> float:
    return float((counts.toarray() * np.log(grid.represent(counts) @ grid.window_means())).sum())


def test_bm25_of_one_language_is_its_formula() -> None:
    documents = ["cat cat dog", "dog"]
    found = MonolingualBM25([EN_EN]).distances(small_task(["cat", "bird"], documents, documents, EN_EN)).values

    # Lucene: idf log(1 + (N - df + 0.5) / (df + 0.5)), tf / (tf + k1 (1 - b + b · length / mean length)).
    idf, frequency = log(1 + 1.5 / 1.5), 2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2))
    assert found[0, 0] == pytest.approx(-idf * frequency, rel=1e-5)
    assert np.isinf(found[[0, 1, 1], [1, 0, 1]]).all()
