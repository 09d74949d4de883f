"""One's own queries on the page: both orders, judgments by a click, and the measures, against evaluation's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import ir_measures
import numpy as np
import pytest
from ir_measures import RR, Qrel, ScoredDoc, nDCG
from playwright.sync_api import Browser, Page, expect

from reranker.embeddings import Embeddings
from reranker.text.documents import Document
from sinkrank.evaluation.judgments import read_judged_queries
from sinkrank.evaluation.statistics import randomisation_p
from tests.support.browser.pages import OpenPage, called, ids, judge, opened_pages
from tests.support.service import serving_page

DOCUMENTS = [
    Document(f"d{i:02}", f"{'cat ' * (i % 4)}{'dog ' * (i % 3)}bread {'water ' * (i % 5)}", "en") for i in range(22)
]


@pytest.fixture(scope="module")
def address(embeddings: Embeddings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    indices = {"pages": DOCUMENTS, "others": DOCUMENTS[:5]}
    with serving_page(embeddings, tmp_path_factory.mktemp("list"), indices, first_stage="bm25") as url:
        yield url


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[OpenPage]:
    with opened_pages(browser, address) as opened:
        yield lambda query="?index=pages", **options: opened(query, **options)


def add(page: Page, text: str) -> None:
    if not page.get_by_label("One query a line").is_visible():
        page.get_by_text("Add queries", exact=True).click()
    page.get_by_label("One query a line").fill(text)
    page.get_by_role("button", name="Add these").click()


def cells(page: Page, row: int) -> list[str]:
    found: list[str] = page.locator(f".queries tbody tr:nth-child({row}) td").all_inner_texts()
    return found


def test_measures_are_those_of_the_evaluation(open_page: OpenPage) -> None:
    page = open_page()
    rng = np.random.default_rng(7)
    for _ in range(20):
        ranking = [f"d{n}" for n in rng.permutation(30)[: rng.integers(1, 25)]]
        grades = {f"d{n}": int(rng.integers(0, 4)) for n in rng.permutation(30)[: rng.integers(1, 20)]}
        qrels = [Qrel("q", name, grade) for name, grade in grades.items()]
        run = [ScoredDoc("q", name, -float(place)) for place, name in enumerate(ranking)]
        wanted = ir_measures.calc_aggregate([nDCG @ 10, RR @ 10], qrels, run)
        assert called(page, "measures", "ndcg", ranking, grades) == pytest.approx(float(wanted[nDCG @ 10]))
        assert called(page, "measures", "reciprocalRank", ranking, grades) == pytest.approx(float(wanted[RR @ 10]))


@pytest.mark.parametrize("n", [0, 1, 2, 5, 13])
def test_the_significance_of_few_differences_is_exact(open_page: OpenPage, n: int) -> None:
    differences = [0.0, *np.random.default_rng(n).normal(0.1, 0.3, n).tolist()]
    page = open_page()
    assert called(page, "measures", "randomisationP", differences) == pytest.approx(randomisation_p(differences))


def test_the_significance_of_many_differences_is_near_that_of_the_evaluation(open_page: OpenPage) -> None:
    """10,000 patterns each: two standard errors of a difference of two estimates are below .013."""
    page = open_page()
    for mean in (0.0, 0.03, 0.06):
        differences = np.random.default_rng(3).normal(mean, 0.2, 60).tolist()
        found = called(page, "measures", "randomisationP", differences)
        assert found == pytest.approx(randomisation_p(differences), abs=0.015)


def test_a_comparison_counts_what_is_better_worse_and_the_same(open_page: OpenPage) -> None:
    page = open_page()
    queries = [
        {"before": ["a", "b"], "after": ["b", "a"], "documents": {"b": 1}},
        {"before": ["a", "b"], "after": ["b", "a"], "documents": {"a": 1}},
        {"before": ["a", "b", "c"], "after": ["c", "b", "a"], "documents": {"c": 1}},
        {"before": ["a"], "after": ["a"], "documents": {"a": 1}},
    ]
    found = called(page, "measures", "compareOrders", queries)["rr"]
    assert (found["won"], found["lost"], found["tied"]) == (2, 1, 1)
    assert found["before"] == pytest.approx((1 / 2 + 1 + 1 / 3 + 1) / 4)
    assert found["after"] == pytest.approx((1 + 1 / 2 + 1 + 1) / 4)
    # Differences 1/2, -1/2, 2/3: of the eight sign patterns all but the two with 1/2 + 1/2 - 2/3 are as far from 0.
    assert found["p"] == 6 / 8


def test_each_query_of_a_list_is_searched_in_both_orders_and_measured(open_page: OpenPage) -> None:
    page = open_page()
    add(page, "cat water\nb7\tdog bread\n")
    expect(page.locator("#list-says")).to_contain_text("2 queries added.")
    page.get_by_role("button", name="Search all").click()
    expect(page.locator("#list-says")).to_have_text("2 queries searched.")
    assert [cells(page, row)[4] for row in (1, 2)] == ["not judged", "not judged"]
    page.get_by_role("button", name="dog bread", exact=True).click()
    expect(page.locator("#step")).to_have_text("Your query 2 of 2")
    expect(page.locator("#after li").first).to_be_visible()
    after = ids(page, "after")
    before = ids(page, "before")
    judge(page, after[1], "relevant")
    judge(page, before[2], "relevant", "before")
    grades = {after[1]: 1, before[2]: 1}
    expected = [called(page, "measures", "ndcg", ranking, grades) for ranking in (before, after)]
    expect(page.locator(".queries tbody tr:nth-child(2) td").nth(2)).to_have_text(f"{expected[0]:.3f}")
    expect(page.locator(".queries tbody tr:nth-child(2) td").nth(3)).to_have_text(f"{expected[1]:.3f}")
    expect(page.locator(".verdict")).to_contain_text("Of 1 judged query Sinkrank’s order is")
    page.reload()
    expect(page.locator(".queries tbody tr:nth-child(2) td").nth(2)).to_have_text(f"{expected[0]:.3f}")
    page.get_by_role("button", name="cat water", exact=True).click()
    expect(page.locator("#step")).to_have_text("Your query 1 of 2")
    page.get_by_role("button", name="Next query").click()
    expect(page.locator("#step")).to_have_text("Your query 2 of 2")


def test_the_keyboard_goes_from_the_list_to_the_results_and_stays_with_the_stepping(open_page: OpenPage) -> None:
    page = open_page()
    add(page, "cat water\ndog bread")
    page.get_by_role("button", name="Search all").click()
    expect(page.locator("#list-says")).to_have_text("2 queries searched.")
    page.get_by_role("button", name="cat water", exact=True).press("Enter")
    expect(page.locator("#step")).to_have_text("Your query 1 of 2")
    expect(page.locator("#after-name")).to_be_focused()
    page.get_by_role("button", name="Next query").press("Enter")
    expect(page.locator("#step")).to_have_text("Your query 2 of 2")
    page.get_by_text("Compare all").press("Enter")
    expect(page.locator("#list-name")).to_be_focused()
    expect(page.locator("#list-name")).to_be_in_viewport()
    page.get_by_role("button", name="Remove the query dog bread").press("Enter")
    expect(page.locator(".queries tbody tr")).to_have_count(1)
    expect(page.get_by_role("button", name="Search all")).to_be_focused()


def test_other_options_ask_for_another_search_of_the_list(open_page: OpenPage) -> None:
    page = open_page()
    add(page, "cat water")
    page.get_by_role("button", name="Search all").click()
    expect(page.locator("#list-says")).to_have_text("1 query searched.")
    page.locator("#share").fill("0.2")
    expect(page.locator("#measures")).to_contain_text("1 query is not searched with these options yet")


def test_a_query_that_finds_nothing_does_not_stop_the_others(open_page: OpenPage) -> None:
    page = open_page()
    add(page, "zzz\n...\ncat")
    page.get_by_role("button", name="Search all").click()
    expect(page.locator("#list-says")).to_have_text("3 queries searched.")
    assert [cells(page, row)[4] for row in (1, 2, 3)] == ["nothing found", "nothing found", "not judged"]


def test_a_query_in_a_language_without_embeddings_is_judged_as_itself(open_page: OpenPage) -> None:
    page = open_page()
    add(page, '{"query": "cat", "language": "sv"}')
    page.get_by_role("button", name="cat", exact=True).click()
    expect(page.locator("#after li").first).to_be_visible()
    judge(page, ids(page, "after")[0], "relevant")
    expect(page.locator(".queries tbody tr")).to_have_count(1)
    assert cells(page, 1)[1] == "1 of 1 judged"


def test_files_of_queries_and_judgments_are_read_and_saved_as_evaluate_reads_them(
    open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page()
    page.get_by_text("Add queries", exact=True).click()
    queries = '{"query_id": "7", "query": "chat eau", "language": "fr"}\n8\tcat dog\nwater\n{broken\n\tno id\n'
    page.get_by_label("Queries from a file").set_input_files(
        {"name": "queries.jsonl", "mimeType": "text/plain", "buffer": queries.encode()}
    )
    expect(page.locator("#list-says")).to_contain_text("4 queries added. Not read: line 4;")
    qrels = "query-id\tcorpus-id\tscore\n7\td01\t2\n8 0 d02 1\n8 0 an id with blanks 0\n9 0 d03 1\nnonsense\n"
    page.get_by_label("Judgments from a file").set_input_files(
        {"name": "qrels.txt", "mimeType": "text/plain", "buffer": qrels.encode()}
    )
    expect(page.locator("#list-says")).to_contain_text("3 judgments read. 1 left out")
    expect(page.locator("#list-says")).to_contain_text("Not read: line 6;")
    for name in ("qrels", "queries"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save {name}").click()
        download.value.save_as(tmp_path / name)
    read = read_judged_queries(tmp_path / "queries", tmp_path / "qrels")
    assert [(each.query_id, each.text, each.language, each.index, each.relevance) for each in read] == [
        ("7", "chat eau", "fr", "pages", {"d01": 2}),
        ("8", "cat dog", None, "pages", {"d02": 1, "an id with blanks": 0}),
    ]


def test_a_list_belongs_to_its_index(open_page: OpenPage) -> None:
    page = open_page()
    add(page, "cat water")
    expect(page.locator(".queries tbody tr")).to_have_count(1)
    page.get_by_label("Index").select_option("others")
    expect(page.locator("#judgments")).to_be_hidden()
    page.get_by_label("Index").select_option("pages")
    expect(page.locator(".queries tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Remove the query cat water").click()
    expect(page.locator("#judgments")).to_be_hidden()


def test_what_other_versions_or_nobody_kept_is_read_as_far_as_it_goes(open_page: OpenPage) -> None:
    page = open_page()
    kept = [{"query": "cat", "language": "", "target": "", "index": "pages", "documents": {"d01": 1}}, 7, {"query": 1}]
    for value, shown in ((json.dumps(kept), True), ("{", False)):
        page.evaluate("value => localStorage.setItem('sinkrank-judgments', value)", value)
        page.reload()
        expect(page.locator("#options-name")).to_be_visible()
        expect(page.locator("#judgments")).to_be_visible(visible=shown)
