"""From distances to figures: rankings, what is relevant, classes by neighbours, tables; all worked out by hand."""

from __future__ import annotations

from math import inf, log2

import numpy as np
import pytest

from papers.corpora.tasks import Direction
from papers.suite.classification import LARGEST_K, classify, vote
from papers.suite.judging import MEASURES, judged, rankings, top
from papers.suite.questions import Judgement, classification, translations
from papers.suite.records import Cost, Record
from papers.suite.results import Costs, class_rows, tables
from reranker.base.errors import BadInput
from sinkrank.demo import Corpus, CorpusPage, Paragraph

LETTERS = "abcdefgh"


def page(page_id: str, language: str, text: str, module: str = "") -> CorpusPage:
    return CorpusPage(page_id, language, page_id, (Paragraph("0", text),), module=module)


def corpus(guides: str = "xxy") -> Corpus:
    """As many pages as guides, in English and French, each of ten words of its own."""
    pages = [
        page(letter, language, " ".join(f"{language}{letter}{other}" for other in "qrstuvwxyz"), guide)
        for letter, guide in zip(LETTERS, guides, strict=False)
        for language in ("en", "fr")
    ]
    return Corpus("c", ("en", "fr"), (), tuple(pages))


# Rankings


def test_documents_stand_by_distance_ties_by_place_and_those_at_infinity_are_not_found() -> None:
    ranked = rankings(np.array([[0.5, inf, 0.1, 0.5], [inf, inf, inf, inf]]))

    assert [row.tolist() for row in ranked] == [[2, 0, 3], []]


def test_the_kept_part_of_a_ranking_has_falling_scores_and_is_filled_up() -> None:
    distances = np.array([[0.5, inf, 0.25, 0.5]])
    places, scores = top(distances, rankings(distances), 2)
    assert (places.tolist(), scores.tolist()) == ([[2, 0]], [[-0.25, -0.5]])

    places, scores = top(distances, rankings(distances), 4)
    assert places.tolist() == [[2, 0, 3, -1]]
    assert scores[0, 0] > scores[0, 1] > scores[0, 2]


def figures(relevant: dict[str, int], order: list[int], hidden: dict[str, str] | None = None) -> dict[str, float]:
    doc_ids = [f"d{n}" for n in range(12)]
    judgement = Judgement("t", {"q": relevant}, hidden or {})
    row = judged(judgement, ["q"], doc_ids, [np.array(order, dtype=np.intp)])[0]
    return dict(zip(MEASURES, row.tolist(), strict=True))


def test_the_measures_of_one_relevant_document_at_rank_3() -> None:
    assert figures({"d7": 1}, [1, 2, 7, 3, 4, 5]) == pytest.approx(
        {"MRR": 1 / 3, "P@1": 0, "P@5": 1 / 5, "P@10": 1 / 10, "nDCG@10": 1 / log2(4)}
    )


def test_the_measures_of_two_relevant_documents() -> None:
    # At ranks 1 and 3: gain 1 + 1/log2(4), of at best 1 + 1/log2(3).
    ideal = 1 + 1 / log2(3)
    assert figures({"d1": 1, "d7": 1}, [1, 2, 7, 3]) == pytest.approx(
        {"MRR": 1, "P@1": 1, "P@5": 2 / 5, "P@10": 2 / 10, "nDCG@10": (1 + 1 / 2) / ideal}
    )


def test_the_rank_counts_over_the_whole_ranking_not_the_kept_part() -> None:
    assert figures({"d11": 1}, list(range(12)))["MRR"] == pytest.approx(1 / 12)


def test_a_hidden_document_takes_no_rank() -> None:
    assert figures({"d7": 1}, [1, 7, 2], {"q": "d1"})["MRR"] == 1


def test_a_query_that_finds_nothing_counts_as_0() -> None:
    assert set(figures({"d1": 1}, []).values()) == {0.0}


# What is relevant


def test_a_page_asks_for_its_translation() -> None:
    question = translations(corpus(), "c", Direction("en", "fr"), "pages", None)

    assert (question.name, [each.name for each in question.judgements]) == ("c en-fr pages", ["c pages"])
    assert question.judgements[0].qrels == {f"en/{each}": {f"fr/{each}": 1} for each in "abc"}


def test_pages_of_a_guide_are_related_and_the_translation_is_taken_out() -> None:
    question = translations(corpus("xxyx"), "c", Direction("en", "fr"), "pages", None, related=True)
    related = question.judgements[1]

    assert related.name == "c pages, related"
    # c stands in its guide alone: nothing is relevant, so it is not judged.
    assert related.qrels == {
        "en/a": {"fr/b": 1, "fr/d": 1},
        "en/b": {"fr/a": 1, "fr/d": 1},
        "en/d": {"fr/a": 1, "fr/b": 1},
    }
    assert related.hidden == {f"en/{each}": f"fr/{each}" for each in "abcd"}


def test_the_digest_changes_with_a_word_and_with_what_is_relevant() -> None:
    def digest(guides: str = "xxy", kind: str = "pages", related: bool = False) -> str:
        return translations(corpus(guides), "c", Direction("en", "fr"), kind, None, related).digest

    assert digest() == digest()
    assert len({digest(), digest("xx"), digest(kind="first20"), digest(related=True), digest("xyy", related=True)}) == 5


def test_texts_of_a_class_ask_for_labelled_ones() -> None:
    pages = [page("a", "en", "mutt reads mail", "mail"), page("b", "en", "irssi chats", "net")]
    question = classification(pages, [page("c", "en", "pine reads mail too", "mail")], "p")

    assert question.labels == {"en/a": "mail", "en/b": "net", "query/c": "mail"}
    assert (list(question.task.queries), list(question.task.documents)) == (["query/c"], ["en/a", "en/b"])
    assert question.task.queries["query/c"] == ("pine", "reads", "mail")


def test_classification_takes_one_language() -> None:
    with pytest.raises(BadInput, match="one language"):
        classification([page("a", "en", "x")], [page("a", "fr", "x")], "p")


# Classes by neighbours


@pytest.mark.parametrize(
    ("classes", "winner"),
    [(["a", "b", "b"], "b"), (["b", "a", "a", "b"], "b"), (["a"], "a"), ([], None)],
    ids=["most", "a tie goes to the nearest", "one", "none"],
)
def test_the_class_with_the_most_votes_wins(classes, winner) -> None:
    assert vote(classes) == winner


def test_k_is_chosen_on_the_labelled_documents_each_without_itself() -> None:
    classes = ["a", "a", "b", "b"]
    # Each document stands first among its own neighbours. With one neighbour documents 1 and 3 are right, with three
    # (the others, all of them) none is.
    training = np.array([[0, 2, 1, 3], [1, 0, 2, 3], [2, 0, 3, 1], [3, 2, 0, 1]], dtype=np.int32)
    found = classify(np.array([[0, 2, 3, 1], [2, 3, 0, -1]], dtype=np.int32), training, ["b", "b"], classes)

    assert found.k == 1
    assert found.wrong.tolist() == [True, False]


def test_a_larger_k_is_taken_where_it_is_better() -> None:
    classes = ["a", "a", "a", "a", "b"]
    training = np.array(
        [[4, 1, 2, 3, 0], [4, 0, 2, 3, 1], [4, 0, 1, 3, 2], [4, 0, 1, 2, 3], [0, 1, 2, 3, 4]], dtype=np.int32
    )
    found = classify(np.array([[4, 0, 1]], dtype=np.int32), training, ["a"], classes)

    # By the nearest alone all are wrong; of two the nearest wins; of three "a" has two votes for documents 0 to 3.
    assert found.k == 3
    assert not found.wrong.any()
    assert LARGEST_K >= 3


# Tables


def record(reciprocal: list[float], name: str = "c pages") -> Record:
    measures = np.zeros((len(reciprocal), len(MEASURES)), dtype=np.float32)
    measures[:, 0] = reciprocal
    empty = np.zeros((len(reciprocal), 0))
    return Record("s", "d", "", Cost(2.0, 0.003, 0.006), empty, empty, {name: measures})  # type: ignore[arg-type]


def answered(**by_direction: list[float]) -> list[tuple[object, Record]]:
    return [
        (translations(corpus("xxyz"), "c", Direction.parse(name.replace("_", "-")), "pages", None), record(values))
        for name, values in by_direction.items()
    ]


def test_means_and_costs_count_every_direction_and_pages_are_tested_together() -> None:
    answers = {
        "auto": answered(en_fr=[1, 1, 1, 1], fr_en=[1, 1, 1, 1]),
        "other": answered(en_fr=[0.5, 1, 0.5, 1], fr_en=[0.5, 0.5, 1, 0.5]),
    }
    (table,) = tables(answers)  # type: ignore[arg-type]
    auto, other = table.rows

    assert table.directions == ("en-fr", "fr-en")
    assert other.by_direction == {"en-fr": 0.75, "fr-en": 0.625}
    assert other.measures["MRR"] == pytest.approx((0.75 + 0.625) / 2)
    # All four pages are behind: 2 of the 16 patterns of signs are as far from 0.
    assert (auto.p, other.p) == (None, pytest.approx(2 / 16))
    assert other.interval is not None
    assert other.interval.mean == pytest.approx(5.5 / 8)
    assert auto.interval == (1, 1, 1)
    # 2 s to fit; 6 ms for four queries, 3 ms for four documents.
    assert auto.costs == Costs(2.0, pytest.approx(6 / 4), pytest.approx(3 / 4))


def test_p_values_are_corrected_for_all_systems_of_the_table() -> None:
    behind = answered(en_fr=[0.5, 0.5, 0.5, 0.5])
    answers = {"auto": answered(en_fr=[1, 1, 1, 1]), "x": behind, "y": behind}
    (table,) = tables(answers)  # type: ignore[arg-type]

    assert [row.p for row in table.rows] == [None, pytest.approx(2 * 2 / 16), pytest.approx(2 * 2 / 16)]


def test_a_system_that_does_not_do_all_directions_has_no_mean() -> None:
    answers = {"auto": answered(en_fr=[1, 1, 1, 1], fr_en=[0, 0, 0, 0]), "half": answered(en_fr=[0.5, 0.5, 0.5, 0.5])}
    (table,) = tables(answers)  # type: ignore[arg-type]
    half = table.rows[1]

    assert (half.by_direction, half.measures, half.interval) == ({"en-fr": 0.5}, {}, None)
    # It is compared in the direction that both did: all four pages are behind.
    assert half.p == pytest.approx(2 / 16)


def test_errors_are_compared_text_by_text() -> None:
    labelled = [page("a", "en", "mail", "mail"), page("b", "en", "net", "net")]
    asking = [page(letter, "en", "mail", "mail") for letter in LETTERS[:4]]
    classes = classification(labelled, asking, "p")
    training = classification(labelled, labelled, "p", of_training=True)

    def answers(nearest: int) -> list[tuple[object, Record]]:
        def of(places: list[list[int]]) -> Record:
            return Record("s", "d", "", Cost(0, 0, 0), np.array(places, dtype=np.int32), np.zeros((1, 1)), {})  # type: ignore[arg-type]

        return [(classes, of([[nearest]] * 4)), (training, of([[0, 1], [1, 0]]))]

    right, wrong = class_rows({"auto": answers(0), "other": answers(1)})  # type: ignore[arg-type]

    assert (right.error.mean, right.p, right.k) == (0.0, None, 1)
    assert (wrong.error.mean, wrong.p) == (1.0, pytest.approx(2 / 16))
