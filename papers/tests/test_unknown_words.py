"""The rules of the papers for words without an embedding."""

import pickle

import pytest

from papers.systems.unknown_words import by_rule
from tests.support.tiny import write_words

# The English dictionary is the larger one.
WORDS = {
    "en": ["printer", "transition", "table", "house", "mouse", "horse"],
    "fr": ["maison", "transition", "table"],
    "de": ["bild", "schirm"],
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return write_words(tmp_path_factory.mktemp("words") / "store", WORDS)


def taken(store, language, word):
    return [store.term(term_id) for term_id in store.stand_ins(language, word)]


@pytest.mark.parametrize(
    ("language", "word", "skip", "parts", "paper"),
    [
        ("en", "maison", [], [("fr", "maison")], [("fr", "maison")]),
        ("en", "priner", [], [("en", "printer")], [("en", "printer")]),
        ("fr", "transition", [("fr", "transition")], [("fr", "transition")], [("en", "transition")]),
        ("fr", "tablee", [], [("fr", "table")], [("en", "table")]),
        ("de", "bildschirm", [], [("de", "bild"), ("de", "schirm")], []),
        ("en", "zebra", [], [], []),
        ("el", "maison", [], [], []),
    ],
)
def test_each_rule_takes_what_it_says(store, language, word, skip, parts, paper):
    expected = {"skip": skip, "parts": parts, "paper": paper}
    assert {rule: taken(by_rule(store, rule), language, word) for rule in expected} == expected


def test_a_bag_holds_what_the_rule_takes(store):
    bag = by_rule(store, "skip").bag_of_tokens(["printer", "priner", "maison"], "en")
    assert (bag.term_ids.tolist(), bag.counts.tolist(), bag.n_unknown) == ([0], [1], 2)


def test_a_pickled_store_keeps_its_rule(store):
    assert pickle.loads(pickle.dumps(by_rule(store, "skip"))).stand_ins("en", "priner") == ()
