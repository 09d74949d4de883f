"""Tasks made of pages of five invented words a language, small enough to check by eye."""

import pytest

from papers.corpora.tasks import Direction, default_directions, halves, make_task
from reranker.base.errors import BadInput
from sinkrank.demo.pages import Corpus, CorpusPage, Paragraph
from tests.demo.small_pages import page

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def words(prefix: str, n: int) -> str:
    return " ".join(prefix + letter for letter in LETTERS[:n])


def parallel_pages(n: int) -> tuple[CorpusPage, ...]:
    return tuple(
        page(f"page{i}", language, words(f"{language}{LETTERS[i]}erst", 8), words(f"{language}{LETTERS[i]}letzt", 8))
        for i in range(n)
        for language in ("en", "fi")
    )


def corpus(*pages: CorpusPage) -> Corpus:
    return Corpus("tiny", ("en", "fi"), (), pages)


FI_EN = Direction("fi", "en")


def test_the_one_relevant_document_of_a_page_is_its_translation():
    task = make_task(corpus(*parallel_pages(5)), FI_EN, "pages")

    assert len(task.queries) == len(task.documents) == 5
    assert {(qrel.query_id, qrel.doc_id, qrel.relevance) for qrel in task.qrels} == {
        (f"fi/page{i}", f"en/page{i}", 1) for i in range(5)
    }


def test_a_page_in_one_of_the_two_languages_alone_is_neither_query_nor_document():
    alone = page("alone", "en", words("alone", 12))

    task = make_task(corpus(*parallel_pages(3), alone), FI_EN, "pages")

    assert "en/alone" not in task.documents
    assert len(task.documents) == 3


def test_a_page_of_five_words_or_fewer_is_left_out_and_counted():
    short = (page("short", "en", words("short", 5)), page("short", "fi", words("lyhyt", 9)))

    task = make_task(corpus(*parallel_pages(3), *short), FI_EN, "pages")

    assert "en/short" not in task.documents
    assert sum(task.left_out.values()) == 1


def test_first20_asks_with_the_first_twenty_words_that_are_no_stop_words():
    long = (
        page("long", "en", f"The {words('long', 15)} and 42 of the", words("more", 15)),
        page("long", "fi", words("z", 15)),
    )

    task = make_task(corpus(*long), Direction("en", "fi"), "first20")

    assert task.queries["en/long"] == tuple(f"{words('long', 15)} 42 {words('more', 5)}".split())
    assert task.documents["fi/long"] == tuple(words("z", 15).split())


def test_the_short_queries_take_as_many_words_as_their_names_say_and_all_of_a_shorter_page():
    pages = (
        page("long", "en", words("long", 25), words("more", 25), words("last", 25)),
        page("long", "fi", words("z", 15)),
    )

    lengths = {
        kind: len(make_task(corpus(*pages), Direction("en", "fi"), kind).queries["en/long"])
        for kind in ("first3", "first8", "first20", "first60", "pages")
    }

    assert lengths == {"first3": 3, "first8": 8, "first20": 20, "first60": 60, "pages": 75}
    assert len(make_task(corpus(*pages), FI_EN, "first60").queries["fi/long"]) == 15


def test_the_halves_of_a_page_have_no_paragraph_in_common():
    asking = page("p", "en", "one", "two", "three", "four")
    searched = page("p", "fi", "yksi", "kaksi", "kolme", "neljä")

    assert halves(asking, searched) == ("one\ntwo", "kolme\nneljä", "three\nfour")


def test_the_second_half_leaves_out_what_the_first_said_already_and_what_has_no_translation():
    asking = page("p", "en", "one", "note", "note", "four")
    searched = CorpusPage(
        "p",
        "fi",
        "",
        tuple(Paragraph(f"par_{n}", t) for n, t in ((0, "yksi"), (1, "huom"), (2, "huomaa"), (3, "neljä"), (9, "yli"))),
    )

    assert halves(asking, searched) == ("one\nnote", "neljä", "four")


def test_the_same_seed_draws_the_same_pages_and_another_seed_others():
    pages = parallel_pages(20)

    first = make_task(corpus(*pages), FI_EN, "pages", limit=5)

    assert len(first.queries) == 5
    assert first == first
    assert make_task(corpus(*reversed(pages)), FI_EN, "pages", limit=5).queries == first.queries
    assert make_task(corpus(*pages), FI_EN, "pages", limit=5, seed=1).queries.keys() != first.queries.keys()


def test_every_direction_and_kind_draws_the_same_pages_where_all_are_fit():
    whole = corpus(*parallel_pages(20))

    drawn = {
        frozenset(query_id.removeprefix(f"{direction.query_language}/") for query_id in task.queries)
        for direction in (FI_EN, Direction("en", "fi"))
        for kind in ("pages", "first20", "halves")
        for task in [make_task(whole, direction, kind, limit=7)]
    }

    assert len(drawn) == 1


def test_directions_go_from_english_to_each_language_and_back():
    assert [str(each) for each in default_directions(("en", "fr", "fi"))] == ["en-fr", "fr-en", "en-fi", "fi-en"]
    assert [str(each) for each in default_directions(("fi", "fr"))] == ["fi-fr", "fr-fi"]


@pytest.mark.parametrize(
    ("direction", "kind", "limit", "said"),
    [
        (FI_EN, "tweets", 5, "give one of first3, first8, first20, first60, pages, halves"),
        (Direction("fr", "en"), "pages", 5, "it has en, fi"),
        (FI_EN, "pages", 0, "limit is 0"),
    ],
)
def test_what_cannot_be_a_task_is_refused_with_a_cure(direction, kind, limit, said):
    with pytest.raises(BadInput, match=said):
        make_task(corpus(*parallel_pages(3)), direction, kind, limit)
