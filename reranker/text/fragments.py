"""Cuts marked texts into fragments, and takes the fragments of an engine apart: text between tags, as `highlight` has
it."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

# Ends a sentence: its sign with quotes and brackets behind it, and blanks; or a line end. It begins with a set of
# characters, which `re` looks for three times as fast as for alternatives. The signs are limited: a text of dots alone
# would be read to its end from each of them, and `re` lets no other thread work meanwhile.
_LONG_SENTENCE_END = 16  # signs
# Those of Unicode's Sentence_Terminal that are in daily use, and the ellipsis. After the second ones no blank follows.
_SIGNS, _UNSPACED_SIGNS = ".!?…։؟۔।॥።፧", "。！？｡។៕။"
_SENTENCE_END = re.compile(
    rf"[{_SIGNS}{_UNSPACED_SIGNS}\n][{_SIGNS}{_UNSPACED_SIGNS}\"'»”’)\]」』）]{{0,{_LONG_SENTENCE_END}}}"
    rf"\s*(?:(?<=\s)|(?<=[{_UNSPACED_SIGNS}」』）]))"
)
# As Lucene's SimpleHTMLEncoder escapes.
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;", "/": "&#x2F;"}
_SPECIAL = re.compile("[" + "".join(_ESCAPES) + "]")
_ESCAPED = re.compile("|".join(_ESCAPES.values()))
_CHARACTERS = {escape: character for character, escape in _ESCAPES.items()}


class Span(NamedTuple):
    """A marked part of a text.

    Attributes:
        start, end: in characters of the text.
        pre_tag, post_tag: what stands before and after it.
        word: what it is marked for: a fragment with several words is better than one with one word several times.
        weight: how good the mark is, 0 to 1.
    """

    start: int
    end: int
    pre_tag: str
    post_tag: str
    word: str = ""
    weight: float = 1.0


def best_fragments(
    texts: Sequence[str], spans: Sequence[Sequence[Span]], size: int, n_most: int, is_by_score: bool
) -> list[tuple[int, int, int]]:
    """The best fragments of the texts that have spans: number of the text, start and end, in reading order.

    Args:
        spans: of each text, in reading order, none within another.
        size: about how many characters a fragment has; 0 for a sentence, however long.
        n_most: fragments at most; 0 for each text with a span as a whole.
        is_by_score: the best comes first.
    """
    if n_most == 0:
        return [(number, 0, len(text)) for number, text in enumerate(texts) if spans[number]]
    found: list[tuple[float, tuple[int, int, int]]] = []
    for number, text in enumerate(texts):
        for start, end, own in _cut(text, spans[number], size or len(text)):
            weights: dict[str, float] = {}
            for span in own:
                weights[span.word] = max(span.weight, weights.get(span.word, 0.0))
            found.append((sum(weights.values()), (number, start, end)))
    best = sorted(found, key=lambda one: -one[0])[:n_most]
    places = [place for _, place in best]
    return places if is_by_score else sorted(places)


def _cut(text: str, spans: Sequence[Span], size: int) -> Iterator[tuple[int, int, Sequence[Span]]]:
    """Start, end and spans of each fragment: sentences as far as they fit, or else words around a span."""
    ends = [span.end for span in spans]
    done = behind = 0
    while done < len(spans):
        first = spans[done]
        # A sentence that begins before these characters does not fit.
        sentences = _sentences(text, max(behind, min(first.start, first.end - size - 1)), first.start + size)
        start = max(behind, sentences[bisect_right(sentences, first.start) - 1])
        if first.end - start > size:
            room = max(0, size - (first.end - first.start)) // 2
            start = _word_start(text, max(start, first.start - room), first.start)
        end = sentences[bisect_right(sentences, start + size) - 1]
        if end < first.end:
            end = _word_end(text, start + size, first.end)
        last = bisect_right(ends, end)
        if last < len(spans):
            end = min(end, spans[last].start)
        fragment = text[start:end]
        yield end - len(fragment.lstrip()), start + len(fragment.rstrip()), spans[done:last]
        done, behind = last, end


def _sentences(text: str, first: int, last: int) -> list[int]:
    """Where sentences begin behind one place and up to another: after the first place, and with the text's end."""
    found = [first]
    # No further than an end reaches that begins before the last place.
    least, most = max(0, first - _LONG_SENTENCE_END), last + _LONG_SENTENCE_END + 2
    for match in _SENTENCE_END.finditer(text, least, most):
        if match.end() > last:
            break
        if match.end() > first:
            found.append(match.end())
    return [*found, len(text)] if len(text) <= last else found


def _word_start(text: str, at: int, most: int) -> int:
    """The first start of a word from a place on, at most another place; in a text without spaces the place itself."""
    words = (start for start in range(at, most + 1) if start == 0 or text[start - 1].isspace())
    return next(words, next((start for start in range(at, most) if not _is_mark(text[start])), most))


def _word_end(text: str, at: int, least: int) -> int:
    """The last end of a word up to a place, at least another place; in a text without spaces the place itself."""
    if at >= len(text):
        return len(text)
    words = (end for end in range(at, least - 1, -1) if text[end].isspace())
    return next(words, next((end for end in range(at, least, -1) if not _is_mark(text[end])), least))


def _is_mark(character: str) -> bool:
    """Whether it belongs to the letter before it."""
    return unicodedata.category(character).startswith("M")


def write_marked(text: str, spans: Sequence[Span], start: int, end: int, is_html: bool) -> str:
    """A part of a text with the tags of its spans, which are in reading order; all but the tags escaped where it is for
    HTML."""
    pieces: list[str] = []
    at = start
    for span in islice(spans, bisect_left(spans, start, key=attrgetter("start")), None):
        if span.end > end:
            break
        between, marked = text[at : span.start], text[span.start : span.end]
        if is_html:
            between, marked = escaped(between), escaped(marked)
        pieces += [between, span.pre_tag, marked, span.post_tag]
        at = span.end
    rest = text[at:end]
    return "".join([*pieces, escaped(rest) if is_html else rest])


def escaped(text: str) -> str:
    """A text as HTML.

    >>> escaped("<b>'a/b'</b>")
    '&lt;b&gt;&#x27;a&#x2F;b&#x27;&lt;&#x2F;b&gt;'
    """
    return _SPECIAL.sub(lambda match: _ESCAPES[match.group()], text)


def read_marked(
    fragment: str, pre_tags: Collection[str], post_tags: Collection[str], is_html: bool
) -> tuple[str, list[Span]] | None:
    """The text of a fragment without its tags and escapes, and its spans; None where tags do not come in pairs.

    >>> read_marked("a <em>b</em>", ["<em>"], ["</em>"], is_html=False)
    ('a b', [Span(start=2, end=3, pre_tag='<em>', post_tag='</em>', word='b', weight=1.0)])
    """
    tags = sorted({*pre_tags, *post_tags}, key=len, reverse=True)
    pieces: list[str] = []
    spans: list[Span] = []
    n_chars = 0
    opened: str | None = None
    for piece in re.split(f"({'|'.join(map(re.escape, tags))})", fragment):
        if opened is None and piece in pre_tags:
            opened = piece
            start, first = n_chars, len(pieces)
        elif opened is not None and piece in post_tags:
            spans.append(Span(start, n_chars, opened, piece, "".join(pieces[first:]).lower()))
            opened = None
        else:
            text = _ESCAPED.sub(lambda match: _CHARACTERS[match.group()], piece) if is_html else piece
            pieces.append(text)
            n_chars += len(text)
    return None if opened is not None else ("".join(pieces), spans)


def merged(first: Sequence[Span], others: Sequence[Span]) -> list[Span]:
    """Spans in reading order: the first ones, and of the others those that overlap none of these. Each sequence is in
    reading order."""
    if not first:
        return list(others)
    found, left = [], list(reversed(first))
    for span in others:
        while left and left[-1].end <= span.start:
            found.append(left.pop())
        if not left or span.end <= left[-1].start:
            found.append(span)
    return [*found, *reversed(left)]
