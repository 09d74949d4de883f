"""Language codes."""

import pytest

from reranker.base.errors import UnknownLanguage
from reranker.text.languages import language_code


@pytest.mark.parametrize(
    ("tag", "code"), [("en", "en"), ("EN", "en"), ("en-US", "en"), ("pt_BR", "pt"), (" el ", "el")]
)
def test_a_tag_is_read_to_its_code(tag, code):
    assert language_code(tag) == code


@pytest.mark.parametrize(
    ("tag", "code"), [("nb", "no"), ("nn-NO", "no"), ("iw", "he"), ("in_ID", "id"), ("ji", "yi"), ("no", "no")]
)
def test_a_code_of_written_norwegian_and_a_replaced_code_are_read_as_the_one_of_the_language(tag, code):
    # ISO 639-1: nb is Bokmål and nn Nynorsk; iw, in and ji were replaced by he, id and yi in 1989.
    assert language_code(tag) == code


@pytest.mark.parametrize("tag", ["", "english", "xx", "e", "../en", None, 3])
def test_what_is_no_code_is_refused_with_near_ones(tag):
    with pytest.raises(UnknownLanguage, match="ISO 639-1"):
        language_code(tag)
