"""Fragments of marked texts, cut as the engines cut theirs (tried on OpenSearch 2.19 and Elasticsearch 8.15)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reranker.text.fragments import Span, best_fragments, merged, read_marked, write_marked

LETTERS = st.text("ab .!\n<>&'/\"", max_size=40)


def spans_of(text: str, *words: str) -> list[Span]:
    found = [(text.index(word), word) for word in words]
    return [Span(start, start + len(word), "[", "]", word) for start, word in sorted(found)]


def fragments(text: str, *words: str, size: int = 100, n_most: int = 5, is_by_score: bool = False) -> list[str]:
    spans = spans_of(text, *words)
    places = best_fragments([text], [spans], size, n_most, is_by_score)
    return [write_marked(text, spans, start, end, is_html=False) for _, start, end in places]


def test_a_fragment_is_the_sentences_that_fit() -> None:
    text = "Nothing here. A cat sits. On a mat."
    assert fragments(text, "cat", size=25) == ["A [cat] sits. On a mat."]
    assert fragments(text, "cat", size=15) == ["A [cat] sits."]


def test_a_long_sentence_is_cut_between_words_around_the_mark() -> None:
    text = "one two three four five cat six seven eight nine ten"
    assert fragments(text, "cat", size=20) == ["five [cat] six seven"]
    assert fragments(text, "cat", size=0) == [text.replace("cat", "[cat]")]


def test_a_text_without_spaces_is_cut_at_the_wanted_places_around_the_mark() -> None:
    text = "一二三四五六七八九猫十一二三四五六七八"
    assert fragments(text, "猫", size=9) == ["六七八九[猫]十一二三"]
    # The vowel sign (U+0E34) is not parted from its letter: 7 characters before ม would begin with it, and 14 from the
    # third ก on would end before it.
    text = f"{'กิ' * 12}ม{'กิ' * 12}"
    assert fragments(text, "ม", size=15) == ["กิกิกิ[ม]กิกิกิกิ"]
    assert fragments(text, "ม", size=14) == ["กิกิกิ[ม]กิกิกิ"]
    # A blank between is still the place to cut.
    assert fragments("零一二三四五 六七八九猫十一 二三四五六七八", "猫", size=11) == ["六七八九[猫]十一"]


@pytest.mark.parametrize("end", ["। ", "॥ ", "؟ ", "۔ ", "። ", "፧ ", "։ ", "。", "｡", "។", "៕", "။"])
def test_a_sentence_ends_at_the_sign_of_its_script(end: str) -> None:
    text = f"Nothing here{end}A cat sits{end}On a mat{end}"
    assert fragments(text, "cat", size=15) == [f"A [cat] sits{end.rstrip()}"]


def test_a_text_of_many_signs_in_a_row_is_cut_at_once() -> None:
    """Quadratic reading of them would take half an hour."""
    signs = "." * 200_000 + "x"
    assert fragments(f"A cat {signs} dog. End", "cat", "dog", size=10) == ["A [cat]", "[dog]. End"]


def test_a_text_of_many_marks_without_an_end_of_a_sentence_is_cut_at_once() -> None:
    """Reading on to the next end of a sentence from each of them would take an hour."""
    n = 100_000
    text = "cat " * n
    spans = [Span(4 * number, 4 * number + 3, "[", "]", "cat") for number in range(n)]
    assert best_fragments([text], [spans], 1, n, False) == [(0, span.start, span.end) for span in spans]


def test_a_mark_that_is_longer_than_a_fragment_is_whole() -> None:
    assert fragments("a verylongword b", "verylongword", size=4) == ["[verylongword]"]


def test_the_fragments_with_most_words_are_taken_and_stand_in_reading_order_or_by_score() -> None:
    text = "A cat.\nNo pet in here.\nA cow and a pig.\nA dog."
    words = ("cat", "dog", "cow", "pig")
    assert fragments(text, *words, size=16) == ["A [cat].", "A [cow] and a [pig].", "A [dog]."]
    assert fragments(text, *words, size=16, n_most=2) == ["A [cat].", "A [cow] and a [pig]."]
    assert fragments(text, *words, size=16, n_most=2, is_by_score=True) == ["A [cow] and a [pig].", "A [cat]."]


def test_each_value_with_a_mark_is_one_fragment_where_their_number_is_0() -> None:
    values = ["cat one", "two", "a cat. And more."]
    spans = [spans_of(value, "cat") if "cat" in value else [] for value in values]
    assert best_fragments(values, spans, 5, 0, False) == [(0, 0, 7), (2, 0, 16)]


def test_all_but_the_tags_is_escaped_as_the_engines_escape() -> None:
    """What both engines answer with `encoder: html`."""
    text = "The <b>printing</b> of a document & 'quotes' a/b \"x\""
    expected = (
        "The &lt;b&gt;<em>printing</em>&lt;&#x2F;b&gt; of a document &amp; &#x27;quotes&#x27; a&#x2F;b &quot;x&quot;"
    )
    span = Span(text.index("printing"), text.index("</b>"), "<em>", "</em>", "printing")
    assert write_marked(text, [span], 0, len(text), is_html=True) == expected
    assert read_marked(expected, ["<em>"], ["</em>"], is_html=True) == (text, [span])


@pytest.mark.parametrize("fragment", ["a <em>b", "a <em>b</em> <em>"])
def test_a_fragment_whose_tags_do_not_come_in_pairs_is_not_read(fragment: str) -> None:
    assert read_marked(fragment, ["<em>"], ["</em>"], is_html=False) is None


def test_marks_between_tags_that_are_alike_are_read() -> None:
    assert read_marked("a **b** c", ["**"], ["**"], is_html=False) == ("a b c", [Span(2, 3, "**", "**", "b")])


def test_a_fragment_with_many_marks_is_read_at_once() -> None:
    """To join all that is read so far at each mark would take half an hour."""
    n = 200_000
    text, spans = "a " * n, [Span(2 * number, 2 * number + 1, "[", "]", "a") for number in range(n)]
    assert read_marked("[a] " * n, ["["], ["]"], is_html=False) == (text, spans)


@given(text=LETTERS, is_html=st.booleans(), size=st.integers(0, 20), data=st.data())
def test_fragments_are_parts_of_the_text_in_order_that_hold_all_marks(text, is_html, size, data) -> None:
    ends = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)))
    drawn = [Span(start, end, "\x01", "\x02") for start, end in zip(ends[::2], ends[1::2], strict=False)]
    spans = [span for span in drawn if text[span.start : span.end].strip() == text[span.start : span.end]]
    places = best_fragments([text], [spans], size, 100, False)
    assert all(0 <= start <= end <= len(text) for _, start, end in places)
    assert all(end <= start for (_, _, end), (_, start, _) in pairwise(places))
    assert all(any(start <= span.start and span.end <= end for _, start, end in places) for span in spans)
    written = write_marked(text, spans, 0, len(text), is_html)
    assert read_marked(written, ["\x01"], ["\x02"], is_html) == (
        text,
        [span._replace(word=text[span.start : span.end].lower()) for span in spans],
    )


def test_of_two_kinds_of_marks_the_first_stay() -> None:
    first, other = [Span(2, 5, "", "", "first")], [Span(0, 2, "", ""), Span(4, 6, "", ""), Span(7, 8, "", "")]
    assert merged(first, other) == [other[0], first[0], other[2]]
    assert merged(other, first) == [*other[:2], other[2]]
    assert merged([], other) == other
    assert merged(first, []) == first
