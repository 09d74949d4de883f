"""Ensembles, rank correlations, kept distances and the names of all systems."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from scipy.stats import spearmanr

from ingest.progress import Progress, no_progress
from papers.corpora.tasks import Task
from papers.systems.cached import CachedSystem
from papers.systems.catalogue import ALL_NAMES, make_system
from papers.systems.ensembles import Ensemble, fused, normalised, rank_correlation
from papers.systems.protocol import Distances, fit
from papers.systems.surroundings import Surroundings
from papers.tests.small_tasks import EN_EN, FR_EN, small_task
from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from sinkrank.demo.pages import CorpusPage
from tests.demo.small_pages import page

INF = np.inf
MONOLINGUAL = {"bm25", "lsi", "lda", "msda", "ccg"}


class Fixed:
    """Says always the same, and counts how often it is asked."""

    description, data = "a table", "a book (public domain)"

    def __init__(self, name: str, values: list[list[float]]) -> None:
        self.name, self._values = name, np.array(values)
        self.n_fitted = self.n_asked = 0

    def fit(self, pages: Sequence[CorpusPage], progress: Progress = no_progress) -> None:
        self.n_fitted += 1

    def distances(self, task: Task, progress: Progress = no_progress) -> Distances:
        self.n_asked += 1
        return Distances(self._values, 2.0, 0.5)


TASK = small_task(["chat"], ["cat", "dog", "car"], [""])


# Ensembles


def test_normalised_distances_weigh_alike_whatever_their_scale() -> None:
    first, second = np.array([[0.0, 1.0, 2.0]]), np.array([[300.0, 100.0, 200.0]])

    # Deviations sqrt(2 / 3) and 100 of it: (-1, 0, 1) + (1, -1, 0), over 2 sqrt(2 / 3).
    assert normalised([first, second])[0] == pytest.approx(np.array([0, -1, 1]) / 2 / np.sqrt(2 / 3))
    assert normalised([first, np.ones((1, 3))])[0] == pytest.approx(np.array([-1, 0, 1]) / 2 / np.sqrt(2 / 3))


def test_reciprocal_ranks_are_summed_and_ties_share_their_rank() -> None:
    found = fused([np.array([[0.1, 0.2, 0.3]]), np.array([[7.0, 5.0, 7.0]])])

    assert found[0] == pytest.approx([-1 / 61 - 1 / 62.5, -1 / 62 - 1 / 61, -1 / 63 - 1 / 62.5])


def test_what_one_member_does_not_find_stands_with_its_farthest_and_what_none_finds_is_not_found() -> None:
    members = [Fixed("a", [[0.2, 0.6, INF]]), Fixed("b", [[INF, 0.4, np.nan]])]
    ensemble = Ensemble("a_b", members)
    ensemble.fit([])
    found = ensemble.distances(TASK)

    assert found.values[0].tolist() == pytest.approx([(0.2 + 0.4) / 2, (0.6 + 0.4) / 2, INF])
    assert (found.document_s, found.query_s) == (4.0, 1.0)
    assert ensemble.data == "a book (public domain)"
    assert [each.n_fitted for each in members] == [1, 1]


# Rank correlations


def test_the_correlation_of_ranks_is_the_mean_of_scipys_over_queries() -> None:
    draw = np.random.default_rng(3)
    first, second = draw.random((4, 12)), draw.random((4, 12)).round(1)
    expected = np.mean([spearmanr(one, other).statistic for one, other in zip(first, second, strict=True)])

    assert rank_correlation(first, second) == pytest.approx(expected)
    assert rank_correlation(first, first**3) == pytest.approx(1)


def test_a_query_without_an_order_says_nothing_of_the_correlation() -> None:
    flat, falling = [1.0, 1.0, 1.0], [3.0, 2.0, INF]
    assert rank_correlation(np.array([flat, falling]), np.array([falling, falling])) == pytest.approx(1)
    assert np.isnan(rank_correlation(np.array([flat]), np.array([falling])))


# Cached distances


def test_a_kept_system_is_asked_once_for_each_task_and_its_pages(tmp_path: Path) -> None:
    pages = [page("1", "en", "cat")]
    inner = Fixed("a", [[0.1, 0.25, INF]])
    for task, asked in ((TASK, 1), (TASK, 1), (small_task(["chien"], ["cat", "dog", "car"], [""]), 2)):
        kept = CachedSystem(inner, tmp_path)
        kept.fit(pages)
        found = kept.distances(task)
        assert found.values[0] == pytest.approx([0.1, 0.25, INF], rel=1e-6)
        assert (found.document_s, found.query_s, inner.n_asked) == (2.0, 0.5, asked)
    assert inner.n_fitted == 2  # at first, and when a new task came

    kept = CachedSystem(inner, tmp_path)
    kept.fit([page("1", "en", "dog")])
    kept.distances(TASK)
    assert inner.n_asked == inner.n_fitted == 3


def test_the_time_of_learning_is_that_of_the_first_run_also_in_an_ensemble(tmp_path: Path) -> None:
    class Learns(Fixed):
        def fit(self, pages: Sequence[CorpusPage], progress: Progress = no_progress) -> None:
            end = process_time() + 0.05
            while process_time() < end:
                pass

    pages = [page("1", "en", "cat")]
    times = []
    for _ in range(2):
        ensemble = Ensemble("a_b", [CachedSystem(Learns("a", [[0.1]]), tmp_path), Fixed("b", [[0.2]])])
        times.append(fit(ensemble, pages))

    assert times[0] >= 0.05
    assert times[1] == pytest.approx(times[0], abs=0.01)  # though it learned nothing


def test_other_embeddings_are_another_system_and_a_broken_file_counts_for_nothing(tmp_path: Path) -> None:
    inner = Fixed("a", [[0.5, 0.25, 1.0]])
    for made_with in ("one", "two"):
        kept = CachedSystem(inner, tmp_path, made_with)
        kept.fit([])
        kept.distances(TASK)
    assert inner.n_asked == 2
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:50])

    kept = CachedSystem(inner, tmp_path, "one")
    kept.fit([])
    assert kept.distances(TASK).values.tolist() == [[0.5, 0.25, 1.0]]
    assert inner.n_asked == 3


# Names


def test_every_name_makes_a_system_of_that_name_with_one_line_about_it(tmp_path: Path, embeddings: Embeddings) -> None:
    assert len(set(ALL_NAMES)) == len(ALL_NAMES)
    for direction, wanted in (
        (EN_EN, sorted(MONOLINGUAL)),
        (FR_EN, [name for name in ALL_NAMES if name not in MONOLINGUAL]),
    ):
        made = [make_system(name, Surroundings((direction,), tmp_path, 1, embeddings)) for name in wanted]
        assert [system.name for system in made] == wanted
        assert all(system.description and "\n" not in system.description for system in made)


def test_a_system_over_words_needs_embeddings(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="wass-idf compares words by their embeddings; give some"):
        make_system("wass-idf", Surroundings((FR_EN,), tmp_path))


def test_an_ensemble_asks_what_its_members_have_said_already(tmp_path: Path, embeddings: Embeddings) -> None:
    given = Surroundings((FR_EN,), tmp_path, 1, embeddings)
    pages = [page("1", "fr", "chat"), page("1", "en", "cat"), page("2", "fr", "eau"), page("2", "en", "water")]
    alone, together = make_system("cr5", given), make_system("cr5_auto-fused", given)
    task = small_task(["chat"], ["cat", "water"], ["chat", "eau"])
    alone.fit(pages)
    alone.distances(task)
    n_files = len(list((tmp_path / "evaluation" / "systems").glob("cr5-*")))
    together.fit(pages)
    found = together.distances(task)

    assert n_files == len(list((tmp_path / "evaluation" / "systems").glob("cr5-*"))) == 2
    assert found.values[0] == pytest.approx([-2 / 61, -2 / 62])
