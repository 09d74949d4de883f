"""The benchmark of the look-up of misspelled words: what is asked is as it says, and both sides find the same."""

import json
from random import Random

from rapidfuzz.distance import Levenshtein

from benchmarks import spelling


def test_words_that_are_asked_are_unknown_and_a_third_is_one_edit_from_a_known_one():
    rng = Random(1)
    terms = spelling.made_up_words(2_000, rng)
    words = spelling.asked(terms, 90, rng)

    assert len(set(terms)) == 2_000
    assert not set(words) & set(terms)
    nearest = [min(Levenshtein.distance(word, term) for term in terms) for word in words]
    assert nearest[0::3] == [1] * 30
    assert max(nearest[1::3]) == 2
    assert max(nearest[2::3]) > 2


def test_the_peer_takes_the_first_term_at_distance_one():
    assert spelling.by_comparing(["mouse", "house", "horse"], "louse") == 0
    assert spelling.by_comparing(["mouse", "house", "horse"], "hoose") == 1
    assert spelling.by_comparing(["mouse", "house"], "cat") is None


def test_both_sides_and_another_process_find_the_same_and_it_is_written(tmp_path, capsys):
    work = "--vocabulary 500 --words 30 --peer-words 9 --rounds 2"
    spelling.main([*work.split(), "--out", str(tmp_path)])
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))

    assert results["same_as_rapidfuzz"] is True
    assert results["same_in_another_process"] is True
    assert 0.333 <= results["share_found"] < 1
    assert results["sides"]["Sinkrank"]["rounds"] == 60
    assert results["sides"]["rapidfuzz, all words"]["rounds"] == 2 * 9
    assert "same_as_rapidfuzz: True" in capsys.readouterr().out


def nothing(_store, words):
    return [None] * len(words)


def test_who_finds_something_else_is_told(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(spelling, "answers", nothing)
    monkeypatch.setattr(spelling, "by_comparing", lambda _terms, _word: -1)
    work = "--vocabulary 50 --words 6 --peer-words 3 --rounds 1"
    spelling.main([*work.split(), "--out", str(tmp_path)])

    said = capsys.readouterr().out
    assert "same_as_rapidfuzz: False" in said
    assert "same_in_another_process: False" in said
