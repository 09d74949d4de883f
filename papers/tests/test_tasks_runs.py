"""Runs over a task of five pages in the words of `tests.support.tiny`."""

from dataclasses import replace

import numpy as np
import ot
import pytest
from ir_measures import Qrel

from papers.corpora.tasks import Direction, make_task
from papers.held_out.experiment import Plan, measure_task, run_plan
from papers.held_out.identical_spellings import measure_stripped, stripped
from papers.held_out.translated import translated_scores, with_default_candidates
from papers.systems.runs import encode, first_stage_run, make_run, method_distances, strictly_falling
from reranker.base.errors import BadInput
from reranker.transport import Parameters
from sinkrank.demo.pages import Corpus
from tests.demo.small_pages import page

TRANSLATIONS = {"cat": "chat", "dog": "chien", "water": "eau", "bread": "pain", "car": "voiture"}
TEXTS = {
    "pets": "cat cat dog dog dog cat water",
    "kitchen": "bread bread water bread water bread cat",
    "road": "car car car dog car car water",
    "river": "water water water water dog water bread",
    "home": "dog cat bread water car cat dog bread bread",
}
FR_EN = Direction("fr", "en")


def translated(text):
    return " ".join(TRANSLATIONS[word] for word in text.split())


def pages(texts=TEXTS):
    for page_id, text in texts.items():
        yield page(page_id, "en", text)
        yield page(page_id, "fr", translated(text))


def corpus(*more):
    return Corpus("tiny", ("en", "fr"), (), (*pages(), *more))


@pytest.fixture
def encoded(embeddings):
    return encode(make_task(corpus(), FR_EN, "pages"), embeddings)


def found(run, query_id):
    return [scored.doc_id for scored in run if scored.query_id == query_id]


def test_the_idf_of_a_word_is_counted_over_the_tasks_documents_in_its_language(encoded):
    # chat stands in three of the five pages, chien in four, eau in all: log(6/4), log(6/5) and log(6/6).
    weights = dict(zip(*_weights(encoded, "fr/pets"), strict=True))

    total = 3 * np.log(6 / 4) + 3 * np.log(6 / 5)
    assert weights == pytest.approx({"chat": 3 * np.log(6 / 4) / total, "chien": 3 * np.log(6 / 5) / total})


def test_the_idf_of_the_query_is_counted_over_the_documents_and_not_over_the_queries(embeddings):
    halved = [
        page(page_id, language, *map(written, texts))
        for page_id, texts in {
            "one": ("cat cat dog dog cat dog", "cat water water water water water"),
            "two": ("cat cat cat cat cat dog", "water water dog car dog dog"),
            "six": ("dog cat cat dog dog dog", "bread bread bread dog car bread"),
        }.items()
        for language, written in (("en", str), ("fr", translated))
    ]
    encoded = encode(make_task(Corpus("tiny", ("en", "fr"), (), tuple(halved)), FR_EN, "halves"), embeddings)

    # Every query has both words; chat stands in one of the three second halves and chien in two: log(4/2), log(4/3).
    weights = dict(zip(*_weights(encoded, "fr/two"), strict=True))

    total = 5 * np.log(4 / 2) + np.log(4 / 3)
    assert weights == pytest.approx({"chat": 5 * np.log(4 / 2) / total, "chien": np.log(4 / 3) / total})


def _weights(encoded, query_id):
    query = encoded.queries[encoded.query_ids.index(query_id)]
    return [encoded.embeddings.term(int(term_id))[1] for term_id in query.term_ids], query.weights


def test_the_first_stage_finds_the_documents_by_falling_cosine(encoded):
    row = encoded.query_ids.index("fr/road")
    query, vectors = encoded.queries[row], encoded.embeddings.vectors
    mean = query.weights @ vectors[query.term_ids]
    cosines = {}
    for doc_id, document in zip(encoded.doc_ids, (encoded.documents[i] for i in range(5)), strict=True):
        other = document.weights @ vectors[document.term_ids]
        cosines[doc_id] = mean @ other / np.linalg.norm(mean) / np.linalg.norm(other)

    assert found(first_stage_run(encoded), "fr/road") == sorted(cosines, key=lambda doc_id: -cosines[doc_id])


def test_distances_are_those_of_an_independent_solver(encoded):
    distances = method_distances(encoded, "emd")

    vectors = np.asarray(encoded.embeddings.vectors, dtype=float)
    for row, query in enumerate(encoded.queries):
        for column in range(5):
            document = encoded.documents[column]
            cost = ot.dist(vectors[query.term_ids], vectors[document.term_ids], metric="euclidean")
            expected = ot.emd2(query.weights, document.weights, cost)
            assert distances[row, column] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("method", ["nbow", "rwmd", "emd", "sinkhorn", "relaxed"])
def test_two_stages_give_what_reranking_everything_gives_when_the_depth_covers_all(encoded, method):
    everything = make_run(encoded, method_distances(encoded, method))

    assert make_run(encoded, method_distances(encoded, method, depth=5), depth=5) == everything
    assert len(everything) == 25


def test_candidates_alone_are_solved_and_ranked_where_a_depth_is_given(encoded):
    distances = method_distances(encoded, "sinkhorn", depth=2)

    assert np.isnan(distances).sum() == 5 * 3
    everywhere = method_distances(encoded, "sinkhorn")
    solved = ~np.isnan(distances)
    np.testing.assert_allclose(distances[solved], everywhere[solved], rtol=1e-5)
    for query_id in encoded.query_ids:
        candidates = found(first_stage_run(encoded, depth=2), query_id)
        assert sorted(found(make_run(encoded, distances, depth=2), query_id)) == sorted(candidates)


def test_tied_documents_keep_the_first_stages_order_in_ranks_and_in_scores(encoded):
    run = make_run(encoded, np.ones((5, 5)))

    for query_id in encoded.query_ids:
        assert found(run, query_id) == found(first_stage_run(encoded), query_id)
        scores = np.array([scored.score for scored in run if scored.query_id == query_id], dtype=np.float32)
        assert (np.diff(scores) < 0).all()


def test_scores_that_fall_already_stay_as_they_are():
    assert strictly_falling([-0.25, -0.5, -0.75]) == [-0.25, -0.5, -0.75]
    assert strictly_falling([-0.5, float("-inf"), float("-inf")])[1] == -10.0


def test_a_query_of_unknown_words_finds_nothing_and_is_counted(embeddings):
    strange = "flimmer flammer flummer flommer flemmer flymmer"
    more = [page("strange", language, strange) for language in ("en", "fr")]
    encoded = encode(make_task(corpus(*more), FR_EN, "pages"), embeddings)

    result = measure_task(encoded, Plan((FR_EN,), methods=("relaxed",)))

    assert found(make_run(encoded, method_distances(encoded, "relaxed")), "fr/strange") == []
    assert (result.n_queries, result.n_unknown) == (6, 1)
    # Each of the other five finds its translation first; this one counts as 0.
    assert result.methods[0].two_stage["MRR"] == pytest.approx(5 / 6)


def test_a_document_of_unknown_words_stands_last(embeddings):
    strange = "flimmer flammer flummer flommer flemmer flymmer"
    more = (
        page("strange", "en", strange),
        page("strange", "fr", translated(TEXTS["home"])),
    )
    encoded = encode(make_task(corpus(*more), FR_EN, "pages"), embeddings)

    for run in (first_stage_run(encoded), make_run(encoded, method_distances(encoded, "sinkhorn"))):
        assert all(found(run, query_id)[-1] == "en/strange" for query_id in encoded.query_ids)


def test_translations_are_found_first_where_each_word_lies_by_its_own(embeddings):
    plan = Plan((FR_EN, Direction("en", "fr")), ("pages",), ("sinkhorn", "emd"))

    tasks = list(run_plan(corpus(), embeddings, plan))

    assert [str(task.direction) for task in tasks] == ["fr-en", "en-fr"]
    for task in tasks:
        assert task.recall == 1
        for result in task.methods:
            assert result.two_stage == result.everything
            assert result.everything["MRR"] == 1


def test_two_stages_find_nothing_that_the_first_did_not(encoded):
    fused = with_default_candidates(encoded, translated_scores(encoded), depth=4)
    last = dict(zip(fused.query_ids, (fused.doc_ids[row[-1]] for row in fused.order), strict=True))
    qrels = tuple(Qrel(query_id, doc_id, 1) for query_id, doc_id in last.items())
    hidden = replace(encoded, task=replace(encoded.task, qrels=qrels))

    result = measure_task(hidden, Plan((FR_EN,), methods=("relaxed",), depth=4))

    assert result.recall == 0
    assert result.methods[0].two_stage["MRR"] == 0
    assert result.methods[0].everything["MRR"] >= 1 / 5  # of five documents each has a place


def test_without_everything_only_the_candidates_are_measured(encoded):
    plan = Plan((FR_EN,), methods=("sinkhorn",), everything=False, depth=2)

    assert measure_task(encoded, plan).methods[0].everything is None


def test_directions_that_the_embeddings_do_not_know_are_named(embeddings):
    with pytest.raises(BadInput, match="no words in fi"):
        list(run_plan(corpus(), embeddings, Plan((Direction("fi", "en"),))))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"methods": ("emd", "emd")}, "each once"),
        ({"depth": 0}, "depth is 0"),
    ],
)
def test_a_plan_that_cannot_be_run_is_refused_before_anything_is_done(wrong, said):
    with pytest.raises(BadInput, match=said):
        Plan((FR_EN,), **wrong)


# Identical spellings


def test_query_words_that_a_document_holds_in_the_same_spelling_are_removed(embeddings):
    french = page("same", "fr", "chat cat cat cat cat cat chien")
    english = page("same", "en", "cat dog dog dog dog dog bread")
    task = make_task(corpus(french, english), FR_EN, "pages")

    left = stripped(task)

    # cat stands in English documents, and chat in none.
    assert left.queries["fr/same"] == ("chat", "chien")
    assert left.queries["fr/pets"] == task.queries["fr/pets"]
    assert (left.documents, left.query_side, left.qrels) == (task.documents, task.query_side, task.qrels)


def test_a_query_of_identical_spellings_alone_counts_as_0(embeddings):
    french = page("same", "fr", "cat cat dog dog water bread")
    english = page("same", "en", "cat cat dog dog water bread")
    encoded = encode(make_task(corpus(french, english), FR_EN, "pages"), embeddings)

    found = measure_stripped(encoded, ("nbow", "auto"), Parameters(), depth=6)

    whole = measure_task(encoded, Plan((FR_EN,), ("pages",), ("auto",)))
    assert (found.method, found.n_empty) == ("auto", 1)
    # 6 words of the 7, 7, 7, 7, 9 and 6.
    assert found.removed_share == pytest.approx(6 / 43)
    assert found.recall == pytest.approx(5 / 6)
    assert whole.recall == 1.0
    assert whole.stripped == measure_stripped(encoded, ("auto",), Parameters(), depth=100)


def test_in_one_language_nothing_is_removed(embeddings):
    encoded = encode(make_task(corpus(), FR_EN, "pages"), embeddings)
    task = replace(encoded.task, direction=Direction("en", "en"))
    assert measure_stripped(replace(encoded, task=task), ("auto",), Parameters(), depth=5) is None


def test_queries_that_share_no_spelling_are_measured_as_they_are_with_their_hubness(embeddings, monkeypatch):
    monkeypatch.setattr("papers.held_out.translated.translated_share", lambda n_words: 0.0)  # transport alone orders
    encoded = encode(make_task(corpus(), FR_EN, "pages"), embeddings)
    # So much that the order of the documents is that of their hubness.
    encoded = replace(encoded, hubness=np.array([40.0, 80.0, 0.0, 120.0, 160.0]))

    found = measure_stripped(encoded, ("auto",), Parameters(), depth=5)

    assert (found.removed_share, found.n_empty) == (0.0, 0)
    # Each of the five queries has the same five documents in the same order, and another one to find.
    assert found.measures["MRR"] == pytest.approx(np.mean([1 / rank for rank in range(1, 6)]))
