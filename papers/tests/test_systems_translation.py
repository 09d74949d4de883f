"""The translation baselines: one translation a word, chosen by a unigram language model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from ingest.embeddings.dictionaries import Translations
from ingest.progress import Progress
from papers.corpora.tasks import Direction
from papers.systems.surface_forms import SurfaceForms
from papers.systems.translation import Translated, UnigramTranslator
from papers.tests.small_tasks import FR_EN, small_task
from reranker.base.errors import BadInput
from tests.demo.small_pages import page

HELD = [
    Translations("avocat", (("lawyer",), ("avocado", "alligator pear"))),
    Translations("tableur", (("spreadsheet program", "worksheet"),)),
    Translations("pomme de terre", (("potato",),)),
]


def read(
    direction: Direction,
    folder: Path,
    add: Callable[[Iterable[Translations]], None],
    add_inverted: Callable[[Iterable[Translations]], None],
    progress: Progress,
) -> None:
    add(HELD)
    add_inverted([Translations("solicitor", (("avocat", "notaire"),))])


def translator(counts: dict[str, int]) -> UnigramTranslator:
    found = UnigramTranslator(FR_EN, counts)
    found.add(HELD)
    return found


def test_the_most_frequent_translation_is_chosen() -> None:
    assert translator({"lawyer": 3, "avocado": 2}).translate("avocat") == ("lawyer",)
    assert translator({"lawyer": 3, "avocado": 5}).translate("avocat") == ("avocado",)


def test_a_translation_of_two_words_has_the_product_of_their_probabilities() -> None:
    # 30 tokens and 3 words: (9 + 1) / 34 · (14 + 1) / 34 = 0.130 against (7 + 1) / 34 = 0.235 or (2 + 1) / 34 = 0.088.
    counts = {"spreadsheet": 9, "program": 14, "worksheet": 7}
    assert translator(counts).translate("tableur") == ("worksheet",)
    assert translator({**counts, "worksheet": 2, "other": 5}).translate("tableur") == ("spreadsheet", "program")


def test_equal_translations_go_by_the_alphabet_and_unknown_words_stay() -> None:
    assert translator({"other": 1}).translate("avocat") == ("avocado",)
    assert translator({}).translate("pomme") == ("pomme",)


def test_the_dictionary_of_the_other_direction_adds_translations() -> None:
    found = translator({"solicitor": 9})
    found.add_inverted([Translations("solicitor", (("avocat", "notaire"),)), Translations("jdn", (("zz",),))])
    assert found.translate("avocat") == ("solicitor",)
    assert found.translate("notaire") == ("solicitor",)


def test_a_translated_query_is_asked_in_the_language_of_the_documents() -> None:
    pages = [page("1", "en", "lawyer lawyer avocado"), page("1", "fr", "avocado avocado avocado")]
    system = Translated("translated-tf", SurfaceForms("tf"), [FR_EN], Path(), read)
    given = small_task(["avocat zut"], ["lawyer", "avocado"], ["avocat", "avocat"])
    with pytest.raises(RuntimeError, match="no dictionary for fr-en yet"):
        system.distances(given)
    system.fit(pages)

    # lawyer and zut, at unit length, against lawyer.
    assert system.distances(given).values[0] == pytest.approx([sqrt(2 - sqrt(2)), np.inf])


def test_the_idf_of_a_translated_query_is_that_of_the_documents() -> None:
    system = Translated("translated-idf", SurfaceForms("idf"), [FR_EN], Path(), read)
    system.fit([page("1", "en", "lawyer")])
    given = small_task(["avocat bois"], ["lawyer bois", "lawyer"], ["avocat", "bois"])

    # lawyer stands in both documents and weighs nothing: bois alone is compared.
    assert system.distances(given).values[0] == pytest.approx([0.0, np.inf], abs=1e-7)


def test_a_direction_without_a_dictionary_is_refused() -> None:
    with pytest.raises(BadInput, match="no dictionary for fr-sk; translated-tf knows fr-bg"):
        Translated("translated-tf", SurfaceForms("tf"), [Direction("fr", "sk")], Path())
