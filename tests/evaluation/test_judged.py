"""Methods compared by people's judgments: files read, figures by hand, parameters chosen on one half."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from math import log2
from pathlib import Path

import pytest
from scipy import stats

from reranker.base.errors import BadInput
from reranker.embeddings import Embeddings
from reranker.search.searcher import Searcher
from reranker.stores import open_store
from reranker.text.documents import Document
from sinkrank import Parameters
from sinkrank.evaluation.comparison import IndexSearches, Run, Way, by_gain, differences, query_moves
from sinkrank.evaluation.judgments import JudgedQuery, read_judged_queries
from sinkrank.evaluation.tuning import halves, tune
from tests.support.service import fill


def query(query_id: str, text: str, **relevance: int) -> JudgedQuery:
    return JudgedQuery(query_id, text, "fr", (), None, relevance)


@pytest.fixture(scope="module")
def searcher(embeddings: Embeddings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searcher]:
    documents = [
        Document("cat", "cat dog", "en"),
        Document("long", "cat water bread car car bread water", "en"),
        Document("bread", "bread water", "en"),
        Document("car", "car", "en"),
    ]
    with closing(open_store(str(tmp_path_factory.mktemp("judged") / "store"))) as store:
        fill(store, embeddings, "pets", documents)
        yield Searcher(store, embeddings, n_threads=1)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_the_files_that_the_page_saves_are_read(tmp_path: Path) -> None:
    line = {"query_id": "q1", "query": "chat noir", "language": "fr", "languages": ["en"], "index": "pets"}
    queries = write(tmp_path / "queries.jsonl", json.dumps(line) + "\n\n")
    qrels = write(tmp_path / "qrels.txt", "q1 0 en/cat 1\nq1 0 a name with blanks 0\n")
    (read,) = read_judged_queries(queries, qrels)
    assert read == JudgedQuery("q1", "chat noir", "fr", ("en",), "pets", {"en/cat": 1, "a name with blanks": 0})


def test_queries_of_other_collections_are_lines_with_a_tab(tmp_path: Path) -> None:
    queries = write(tmp_path / "queries.tsv", "\ufeff301\tinternational organised crime\n302\tpoliomyelitis\n")
    qrels = write(tmp_path / "qrels", "301\t0\tFBIS3-1\t2\n302 0 FBIS3-2 0\n")
    (read,) = read_judged_queries(queries, qrels)  # 302 has no relevant document
    assert (read.text, read.relevance) == ("international organised crime", {"FBIS3-1": 2})


@pytest.mark.parametrize("header", ["", "query-id\tcorpus-id\tscore\n"])
def test_judgments_in_beirs_form_are_read_with_and_without_their_header(tmp_path: Path, header: str) -> None:
    queries = write(tmp_path / "queries.jsonl", '{"_id": "301", "text": "crime and\u2028punishment"}\n')
    qrels = write(tmp_path / "test.tsv", f"{header}301\ta name with blanks\t2\n301\tFBIS3-1\t0\n")
    (read,) = read_judged_queries(queries, qrels)
    assert (read.text, read.relevance) == ("crime and\u2028punishment", {"a name with blanks": 2, "FBIS3-1": 0})


def test_ratings_of_csv_are_judgments_and_its_queries_the_queries(tmp_path: Path) -> None:
    rows = '"crime, and punishment",FBIS3-1,2\ncat,d2,0\n"crime, and punishment",d 4,0\ncat,d3,1.0\ncat,d5,\ndog,d6,0\n'
    ratings = write(tmp_path / "ratings.csv", f"\ufeffQuery,docid,rating\n{rows}")
    assert [(one.query_id, one.text, one.relevance) for one in read_judged_queries(None, ratings)] == [
        ("1", "crime, and punishment", {"FBIS3-1": 2, "d 4": 0}),
        ("2", "cat", {"d2": 0, "d3": 1}),  # d5 has no rating, and nothing is relevant to dog
    ]


def test_a_header_in_quotes_is_a_header(tmp_path: Path) -> None:
    """As R's write.csv has it."""
    ratings = write(tmp_path / "ratings.csv", '"query","docid","rating"\n"cat","d1","2"\n')
    (read,) = read_judged_queries(None, ratings)
    assert (read.text, read.relevance) == ("cat", {"d1": 2})


def test_beside_a_file_of_queries_csv_names_their_ids(tmp_path: Path) -> None:
    queries = write(tmp_path / "queries.tsv", "q7\tcat\n")
    ratings = write(tmp_path / "ratings.csv", "rating,note,docid,query\n3,good,d1,q7\n")
    (read,) = read_judged_queries(queries, ratings)
    assert (read.query_id, read.text, read.relevance) == ("q7", "cat", {"d1": 3})


@pytest.mark.parametrize(
    ("ratings", "said"),
    [
        ("query,docid,rating\ncat,d1,high\n", "line 2: the rating 'high' is not a whole number"),
        ("query,docid,rating\ncat,d1,1.5\n", "line 2: the rating '1.5' is not a whole number"),
        ("query,docid,rating\ncat,d1,inf\n", "line 2: the rating 'inf' is not a whole number"),
        ("query,docid,rating\ncat,,1\n", "line 2: no query or no docid"),
        ("query,docid,rating\ncat,1\n", "line 2: 2 columns, and the header has 3"),
        ("query,docid,rating\n", "is empty"),
        ("query,docid,rating\ncat,d1,\ncat,d2,\n", r"no row of .*ratings\.csv has a rating; give 1 or more"),
        ("query,docid,rating\ncat,d1,0\n", "no query .* has a relevant document"),
        ("q 0 d 1\n", "name the file of the queries with --queries"),
        ("query,docid,rating\ncat,d1,2\ncat,d1,0\n", "line 3: 'd1' is judged twice for query 'cat', 2 and 0"),
    ],
)
def test_ratings_that_cannot_be_read_are_named_with_their_line(tmp_path: Path, ratings: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_judged_queries(None, write(tmp_path / "ratings.csv", ratings))


@pytest.mark.parametrize(
    ("queries", "qrels", "said"),
    [
        ("no tab here\n", "q 0 d 1\n", "line 1: 'no tab here' has no tab"),
        ("q\tchat\n", "q 0 d\n", "line 1: 'q 0 d' is not a judgment"),
        ("q\tchat\n", "q 0 d one\n", "is not a judgment"),
        ("q\tchat\n", "q\td\tone\n", "line 1: .* is not a judgment"),
        ("q\tchat\n", "q\td\t1\nquery-id\tcorpus-id\tscore\n", "line 2: .* is not a judgment"),
        ('{"query_id": "q"}\n', "q 0 d 1\n", "no query id or no text"),
        ("q\tchat\nq\tchien\n", "q 0 d 1\n", "'q' stands there twice"),
        ("q\tchat\n", "other 0 d 1\n", "no query of"),
        ("q\tchat\n", "q 0 d 1\nq 0 e 1\nq 0 d 0\n", "line 3: 'd' is judged twice for query 'q', 1 and 0"),
        ('{"query_id": "q", "query": "chat", "languages": "en"}\n', "q 0 d 1\n", "give a list of codes"),
        ("{broken\n", "q 0 d 1\n", "not JSON"),
        ('{"query_id": "q", "query": "half a pair \\ud83d"}\n', "q 0 d 1\n", "line 1: not JSON: .*surrogate"),
        (f'{{"query_id": {"[" * 100_000}\n', "q 0 d 1\n", "line 1: not JSON: "),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(tmp_path: Path, queries: str, qrels: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_judged_queries(write(tmp_path / "queries", queries), write(tmp_path / "qrels", qrels))


def test_a_judgment_that_stands_there_twice_is_read_once(tmp_path: Path) -> None:
    (read,) = read_judged_queries(write(tmp_path / "q", "q\tchat\n"), write(tmp_path / "qrels", "q 0 d 1\nq 0 d 1\n"))
    assert read.relevance == {"d": 1}


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="queries"):
        read_judged_queries(tmp_path / "queries", write(tmp_path / "qrels", "q 0 d 1\n"))


def test_the_measures_are_those_of_the_ranking(searcher: Searcher) -> None:
    run = IndexSearches(searcher, "pets").run(Way("nbow", "nbow"), [query("q", "chat", long=1, car=0)])
    ranking = run.ranking["q"]
    rank = ranking.index("long") + 1
    assert rank > 1
    assert run.mean("MRR") == pytest.approx(1 / rank)
    assert run.mean("nDCG@10") == pytest.approx(1 / log2(rank + 1))
    assert run.mean("judged@10") == pytest.approx(2 / 4)  # of the four that are there


@pytest.mark.parametrize("method", ["none", "nbow"])
def test_a_small_depth_hides_no_hit_from_the_measures(searcher: Searcher, method: str) -> None:
    """All four documents are among the first hundred, though one alone is re-ranked."""
    run = IndexSearches(searcher, "pets").run(
        Way(method, method, depth=1), [query("q", "chat", cat=1, long=1, bread=1, car=1)]
    )
    assert sorted(run.ranking["q"]) == ["bread", "car", "cat", "long"]
    assert run.mean("R@100") == run.mean("nDCG@10") == 1.0


def test_a_query_without_a_known_word_or_without_a_letter_finds_nothing(searcher: Searcher) -> None:
    texts = {"q": "zzz", "r": "12 34", "s": "", "t": "chat"}
    run = IndexSearches(searcher, "pets").run(
        Way("auto", "auto"), [query(name, text, cat=1) for name, text in texts.items()]
    )
    assert [run.ranking[name] for name in "qrs"] == [(), (), ()]
    assert run.mean("MRR") == pytest.approx(1 / 4)


def made(name: str, values: list[float]) -> Run:
    return Run(Way(name, name), {}, {"nDCG@10": {f"q{i}": value for i, value in enumerate(values)}})


def test_a_difference_is_tested_query_by_query_and_corrected() -> None:
    first = made("none", [0.0] * 6)
    better, same = made("auto", [1.0] * 6), made("nbow", [0.0] * 6)
    found = differences([first, better, same], first, "nDCG@10")
    # Of the 64 patterns of signs two are as far from 0; two tests double it.
    assert found["auto"].p_value == pytest.approx(2 * 2 / 64)
    assert (found["auto"].mean, found["auto"].n_better, found["auto"].n_worse) == (1.0, 6, 0)
    assert found["nbow"].p_value == 1.0


def test_queries_that_lose_more_than_a_tenth_are_counted() -> None:
    first = made("none", [0.5, 0.5, 0.5, 0.5])
    worse = made("auto", [0.39, 0.41, 0.0, 0.9])  # by 0.11, 0.09 and 0.5
    found = differences([first, worse], first, "nDCG@10")["auto"]
    assert found.n_much_worse == 2
    assert found.much_worse_at_most == pytest.approx(stats.beta.ppf(0.95, 3, 2))  # 2 of 4


def test_moves_name_the_rank_of_each_judged_document(searcher: Searcher) -> None:
    queries = [query("q", "chat", long=1, gone=1), query("r", "pain", bread=1)]
    runs = [IndexSearches(searcher, "pets").run(Way(name, name), queries) for name in ("none", "relaxed")]
    moves = list(query_moves(runs, queries, "MRR"))
    assert moves[0].ranks["gone"] == {"none": None, "relaxed": None}
    assert moves[0].ranks["long"]["none"] == runs[0].ranking["q"].index("long") + 1
    ordered = by_gain(moves, runs[1], runs[0])
    assert all(move.values["none"] != move.values["relaxed"] for move in ordered)


def test_a_query_stays_on_its_side_as_judgments_grow() -> None:
    few = [query(f"q{i}", f"text {i}", cat=1) for i in range(40)]
    many = [replace(each, query_id=f"other {each.query_id}") for each in few] + [
        query(f"n{i}", f"more {i}", cat=1) for i in range(60)
    ]
    side = {each.text for each in halves(few)[0]}
    assert {each.text for each in halves(many)[0]} & {each.text for each in few} == side


def test_too_few_queries_are_refused() -> None:
    with pytest.raises(BadInput, match="19 judged queries"):
        halves([query(f"q{i}", f"text {i}", cat=1) for i in range(19)])


def test_a_parameter_that_is_better_on_one_half_is_chosen_and_told_by_the_other(searcher: Searcher) -> None:
    # "long" holds the cat among other words: with the document's weights as a law it is far, as a wish it is near.
    queries = [query(f"q{i}", f"chat pain eau{' chat' * i}", long=1) for i in range(30)]
    start = Way("relaxed", "relaxed", parameters=Parameters(tau=100.0))
    tuning = tune(start, IndexSearches(searcher, "pets").run, queries, "MRR")
    choosing, reporting = halves(queries)
    assert (tuning.n_choosing, len(tuning.after.ranking)) == (len(choosing), len(reporting))
    assert tuning.chosen.parameters.tau is not None
    assert tuning.chosen.parameters.tau < 1
    assert tuning.after.mean("MRR") > tuning.before.mean("MRR")
    best = max(value for _, value in tuning.tried)
    assert dict(tuning.tried)[replace(tuning.chosen, name="other parameters")] == pytest.approx(best, abs=0.002)
    assert not {each.query_id for each in choosing} & set(tuning.after.ranking)


def test_the_weight_of_knn_is_tuned_in_the_default_first_stage(searcher: Searcher) -> None:
    """`auto` is `hybrid` (docs/choosing.md)."""
    queries = [query(f"q{i}", f"chat{' pain' * i}", cat=1) for i in range(24)]
    tuning = tune(Way("emd", "emd", "auto"), IndexSearches(searcher, "pets").run, queries)
    assert {way.knn_weight for way, _ in tuning.tried} == {0.2, 0.35, 0.5, 0.65, 0.8}
    assert tuning.before.way.first_stage == tuning.chosen.first_stage == "hybrid"


def test_only_parameters_that_act_are_tried(searcher: Searcher) -> None:
    queries = [query(f"q{i}", f"chat{' pain' * i}", cat=1) for i in range(24)]
    tuning = tune(Way("emd", "emd"), IndexSearches(searcher, "pets").run, queries)
    assert {(way.parameters, way.knn_weight) for way, _ in tuning.tried} == {(Parameters(), 0.5)}
    assert {way.depth for way, _ in tuning.tried} == {50, 100, 200, 500}
