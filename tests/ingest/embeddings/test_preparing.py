"""The steps of `sinkrank embeddings prepare`: documents read once, the plan, the sample that checks the result."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.embeddings.preparing.other_languages import OtherLanguages
from ingest.embeddings.preparing.parts import NAMES
from ingest.embeddings.preparing.passages import PassageMap
from ingest.embeddings.preparing.plan import check_names, language_to_train, make_plan
from ingest.embeddings.preparing.texts import _used_languages
from ingest.embeddings.preparing.unusable import Unusable
from ingest.embeddings.sentence_models import E5, MINILM
from reranker.base.errors import BadInput
from reranker.text import segmentation
from reranker.text.language_detection import detect_language
from tests.ingest.records import read_as_texts as read

ROWS = [
    {"id": "1", "language": "en", "title": "A cat", "text": "The cat and the dog", "group": "x", "other": "y"},
    {"id": "2", "language": "fr", "text": "Le chat, le chat", "group": "x"},
    {"id": "3", "language": "en", "text": "dog"},
    {"id": "4", "language": "en", "text": "dog", "group": "z"},
    {"id": "5", "language": "fr", "text": "chien", "group": "z"},
]


def test_documents_are_kept_with_their_groups_and_their_words_counted(tmp_path: Path) -> None:
    texts = read(tmp_path, [*ROWS, {"id": "6", "language": "en"}])
    assert texts.languages == {"en": 3, "fr": 2}
    assert texts.collection.document_frequencies == {"en": {"cat": 1, "dog": 3}, "fr": {"chat": 1, "chien": 1}}
    assert (texts.n_pairs, texts.n_aligned) == (6, 2)
    assert "rows.jsonl, line 6" in str(texts.unusable)
    units = list(texts.units())
    assert (units[0].text, units[0].language) == ("A cat\nThe cat and the dog", "en")
    assert units[0].group == units[1].group == "x"
    assert units[3].group == units[4].group == "z"
    assert units[2].group not in ("x", "z")


def test_groups_in_one_language_are_no_translations_so_that_each_document_is_counted(tmp_path: Path) -> None:
    rows = [{"id": str(n), "language": "en", "text": "cat", "group": "furniture"} for n in range(4)]
    units = list(read(tmp_path, [*rows, {"id": "5", "language": "fr", "text": "chat", "group": "furniture"}]).units())
    assert len({unit.group for unit in units}) == len({unit.document for unit in units}) == 5


def test_a_share_of_the_documents_keeps_translations_together(tmp_path: Path) -> None:
    rows = [
        {"id": f"{code}{n}", "language": code, "text": "word", "page": str(n)}
        for n in range(200)
        for code in ("en", "fr")
    ]
    texts = read(tmp_path, rows, group="page")
    drawn = list(texts.units(0.25))
    by_language = [{unit.group for unit in drawn if unit.language == code} for code in ("en", "fr")]
    assert by_language[0] == by_language[1]
    assert 30 < len(by_language[0]) < 70  # 50 of 200, by chance


def test_a_language_that_is_named_counts_however_seldom_and_one_that_is_detected_does_not(tmp_path: Path) -> None:
    english = "The engineers tested the new engine of the airplane in the morning."
    french = "Les ingénieurs ont essayé le nouveau moteur de cet avion pendant la matinée."
    rows: list[dict[str, str]] = [{"id": str(n), "text": english} for n in range(40)]
    assert read(tmp_path, [*rows, {"id": "f", "text": french}]).languages == {"en": 41}
    assert read(tmp_path, [*rows, {"id": "f", "text": french, "lang": "fr"}]).languages == {"en": 40, "fr": 1}
    assert read(tmp_path, [*rows[:4], {"id": "f", "text": french}]).languages == {"en": 4, "fr": 1}


# The first lines of articles 1 of the Universal Declaration of Human Rights, and short titles.
CHINESE = "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。"
JAPANESE = "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。"
RUSSIAN = "Все люди рождаются свободными и равными в своем достоинстве и правах."


@pytest.fixture
def without_icu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segmentation, "_word_breaker", lambda: None)


def english_and(*others: str, **fields: str) -> list[dict[str, str]]:
    """57 documents in English, and others after them."""
    texts = [*["The engineers tested the new engine of the airplane in the morning."] * 57, *others]
    return [{"id": str(n), "text": text} | (fields if n >= 57 else {}) for n, text in enumerate(texts)]


@pytest.mark.usefixtures("without_icu")
def test_a_few_documents_in_other_scripts_are_counted_and_not_used_without_an_extra(tmp_path: Path) -> None:
    texts = read(tmp_path, english_and(CHINESE, CHINESE, RUSSIAN))
    assert texts.languages == {"en": 57}
    assert (texts.used.not_used, texts.used.needs_words) == ({"zh": 2, "ru": 1}, [])
    assert list(texts.collection.document_frequencies) == ["en"]
    assert {unit.language for unit in texts.units()} == {"en"}
    assert (texts.n_documents, texts.n_pairs) == (57, 57 * 6)


@pytest.mark.usefixtures("without_icu")
@pytest.mark.parametrize("rows", [english_and(*[CHINESE] * 2, language="zh"), english_and(*[CHINESE] * 19)])
def test_a_second_language_without_spaces_is_not_used_until_the_extra_is_there(
    rows: list[dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = len(rows) - 57
    texts = read(tmp_path, rows)
    assert (texts.languages, texts.used.not_used, texts.used.needs_words) == ({"en": 57}, {"zh": n}, ["zh"])
    monkeypatch.undo()
    assert read(tmp_path, rows).languages == {"en": 57, "zh": n}


def test_a_few_documents_are_not_used_with_the_extra_either(tmp_path: Path) -> None:
    assert read(tmp_path, english_and(CHINESE, CHINESE)).used.not_used == {"zh": 2}


@pytest.mark.usefixtures("without_icu")
def test_a_main_language_without_spaces_needs_the_extra(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"--lang names Chinese, .*pip install"):
        language_to_train(read(tmp_path / "few", english_and(CHINESE)), "zh")
    with pytest.raises(BadInput, match=r"^58 of 115 documents are in Chinese, .*pip install 'sinkrank\[words\]'$"):
        read(tmp_path, english_and(*[CHINESE] * 58))


def test_a_document_in_the_script_of_the_main_language_belongs_to_it_whatever_was_detected(tmp_path: Path) -> None:
    # The second is detected as Dutch; the third has no letters; the fourth is named as Finnish, which is used.
    texts = read(tmp_path, [*english_and("Print een test", "12 34"), {"id": "f", "text": "Kissa", "language": "fi"}])
    assert texts.languages == {"en": 59, "fi": 1}
    assert texts.used.not_used == {}
    assert "een" in texts.collection.document_frequencies["en"]


def test_japanese_titles_without_kana_belong_to_japanese(tmp_path: Path) -> None:
    rows = [{"id": str(n), "text": JAPANESE} for n in range(40)]
    assert detect_language("人類自由宣言", 0) != "ja"
    texts = read(tmp_path, [*rows, {"id": "t", "text": "人類自由宣言"}])
    assert (texts.languages, texts.used.not_used) == ({"ja": 41}, {})


def test_of_many_languages_with_few_documents_each_the_most_frequent_is_used(tmp_path: Path) -> None:
    codes = ["en", "fi", "fr", "de", "es", "it", "sv", "nl", "da", "pt", "pl", "cs", "hu", "et", "ro"]
    counts = {(code, False, "LATIN"): 4 if code == "fr" else 3 for code in codes}
    used = _used_languages(counts | {("und", False, "CYRILLIC"): 39}, Unusable())
    assert used.main == "fr"
    assert (used.n_documents, used.not_used) == ({"fr": 14 * 3 + 4}, {"und": 39})


def test_documents_without_words_in_a_known_language_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"--text-field.*--lang"):
        read(tmp_path, [{"id": "1", "text": "12 34"}])
    with pytest.raises(BadInput, match="no field 'language'"):
        read(tmp_path, [{"id": "1", "text": "words"}], lang=None)


def test_all_other_languages_are_mapped_into_the_space_of_that_of_nine_tenths_of_the_documents(tmp_path: Path) -> None:
    codes = [*["en"] * 18, "fr", "fi"]
    rows = [{"id": f"{n}{code}", "language": code, "text": "word"} for n, code in enumerate(codes)]
    plan = make_plan(read(tmp_path, rows), tmp_path, query_languages=["de", "en"])
    parts = {part.name: part.description for part in plan.parts}
    assert parts["training"] == "train on your documents, language en"
    assert parts["encoder"] == "encode the words of the documents with all-MiniLM-L6-v2"
    passage_map, others = (step for step in plan.last)
    assert isinstance(passage_map, PassageMap)
    assert (passage_map.model, passage_map.languages) == (MINILM, ["en"])
    assert isinstance(others, OtherLanguages)
    assert (others.first, others.others) == (["en"], ["fr", "fi", "de"])
    # FreeDict has fi-fr too; fr-fi as well.
    assert sorted(others.dictionaries) == ["de-en", "en-de", "en-fi", "en-fr", "fi-en", "fr-en"]
    without = make_plan(read(tmp_path, rows), tmp_path, without={"encoder"})
    assert without.last == []
    assert "languages" in without.left_out
    assert set(plan.left_out) | {step.name for step in plan.steps()} | {"dictionaries"} == set(NAMES)


def test_other_languages_are_not_added_where_they_are_left_out(tmp_path: Path) -> None:
    rows = [{"id": str(n), "language": "fr" if n == 19 else "en", "text": "word"} for n in range(20)]
    plan = make_plan(read(tmp_path, rows), tmp_path, without=check_names(["languages"]), query_languages=["fi", "uk"])
    assert [step.name for step in plan.steps()] == ["training", "encoder", "passages"]
    assert plan.left_out == {"languages": "as asked"}


def test_a_query_language_that_would_get_no_words_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    """FreeDict has fi-en and br-fr, and none with Ukrainian."""
    rows = [{"id": str(n), "language": "en", "text": "word"} for n in range(20)]
    english = read(tmp_path / "en", rows)
    assert len(make_plan(english, tmp_path, query_languages=["fi"]).last) == 2
    with pytest.raises(BadInput, match=r"no query in uk would .*between it and en; leave it out of --queries-in"):
        make_plan(english, tmp_path, query_languages=["fi", "uk"])
    with pytest.raises(BadInput, match=r"no query in br would"):
        make_plan(english, tmp_path, query_languages=["br"])
    with pytest.raises(BadInput, match=r"no query in fi would .*--without leaves the dictionaries out"):
        make_plan(english, tmp_path, without={"dictionaries"}, query_languages=["fi"])
    french = read(tmp_path / "fr", [*rows, {"id": "f", "language": "fr", "text": "mot"}])
    assert make_plan(french, tmp_path, query_languages=["br"]).last
    ukrainian = read(tmp_path / "uk", [*rows, {"id": "u", "language": "uk", "text": "слово"}])
    assert make_plan(ukrainian, tmp_path, query_languages=["uk"]).last


def test_if_no_language_has_nine_tenths_of_the_documents_all_share_a_space(tmp_path: Path) -> None:
    rows = [{"id": f"{n}{code}", "language": code, "text": "word"} for n, code in enumerate(["en", "en", "fr", "fi"])]
    plan = make_plan(read(tmp_path, rows), tmp_path)
    encoder = next(part for part in plan.parts if part.name == "encoder")
    # FreeDict has fi-fr too; fr-fi as well.
    assert sorted(encoder.dictionaries) == ["en-fi", "en-fr", "fi-en", "fr-en"]  # type: ignore[attr-defined]
    (passage_map,) = plan.last
    assert isinstance(passage_map, PassageMap)
    assert (passage_map.model, passage_map.languages) == (E5, ["en", "fr", "fi"])
    assert "training" in plan.left_out  # no groups


def test_languages_of_groups_share_a_space_with_their_dictionaries(tmp_path: Path) -> None:
    rows = [{"id": f"{n}{code}", "group": str(n), "language": code, "text": "word"} for n in range(3) for code in FIRST]
    plan = make_plan(read(tmp_path, rows), tmp_path)
    encoder = next(part for part in plan.parts if part.name == "encoder")
    assert encoder.description.endswith("multilingual-e5-small, with the dictionaries en-fr, fr-en")
    # A map to the encoder's passages would part what training on translations has brought together.
    assert plan.last == []
    assert "translations" in plan.left_out["passages"]


FIRST = ("en", "fr")


@pytest.mark.parametrize(
    ("groups", "asked", "message"),
    [
        ("abcd", None, r"several languages \(en 2, fr 2\).*--group-field.*--lang"),
        ("abac", None, r"several languages \(en 2, fr 2\)"),  # one group of translations
        ("a", None, "at least 2 documents.*there are en 1: give more in en"),
        ("abc", "fr", "at least 2 documents.*there are en 2, fr 1: give more in fr"),
    ],
)
def test_documents_that_cannot_be_trained_on_are_refused_with_the_cure(
    tmp_path: Path, groups: str, asked: str | None, message: str
) -> None:
    rows = [
        {"id": str(n), "text": "cat", "language": "en" if n < 2 else "fr", "group": g} for n, g in enumerate(groups)
    ]
    with pytest.raises(BadInput, match=message):
        language_to_train(read(tmp_path, rows), asked)


def test_groups_of_another_type_are_none_unless_the_field_was_named(tmp_path: Path) -> None:
    rows = [{"id": str(n), "text": "cat", "language": "en", "group": ["staff"]} for n in range(2)]
    assert len({unit.group for unit in read(tmp_path, rows).units()}) == 2
    with pytest.raises(BadInput, match="none of the 2 documents has a field 'group' with a string or a whole number"):
        read(tmp_path, rows, group="group")


def test_passages_need_the_encoder(tmp_path: Path) -> None:
    english = read(tmp_path, [{"id": str(n), "text": "cat dog", "language": "en"} for n in range(3)])
    plan = make_plan(english, tmp_path)
    assert [step.name for step in plan.last] == ["passages"]
    for left_out in ("encoder", "passages"):
        without = make_plan(english, tmp_path, without={left_out})
        assert without.last == []
        assert "passages" in without.left_out
