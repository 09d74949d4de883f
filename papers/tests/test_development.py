"""The development part of a corpus, and the share of its test text that was seen in training."""

from __future__ import annotations

import pytest

from papers.corpora.development import development, shared_paragraph_share
from sinkrank.demo.pages import Corpus, split
from tests.demo.small_pages import page


def test_the_development_half_holds_training_pages_alone_five_of_seven_to_train() -> None:
    pages = [page(f"p{n:02}", language, f"{language} {n}") for n in range(20) for language in ("en", "fr")]
    train, test = split(pages, 14)
    half = development(Corpus("numbered", ("en", "fr"), train, test))
    assert half.name == "numbered-development"
    assert {*half.train_pages, *half.test_pages} == set(train)
    n_train, n_test = (len({each.page_id for each in part}) for part in (half.train_pages, half.test_pages))
    assert (n_train, n_test) == (10, 4)
    assert not {each.page_id for each in half.train_pages} & {each.page_id for each in half.test_pages}


def test_the_share_of_test_text_seen_in_training_is_counted_by_words_and_language() -> None:
    train = [page("a", "en", "seen one two", "other")]
    test = [page("b", "en", "seen one two", "new"), page("b", "fr", "seen one two")]
    assert shared_paragraph_share(train, test) == pytest.approx(3 / (3 + 1 + 3))
