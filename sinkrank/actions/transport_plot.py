"""Draws an explanation as SVG: bands between words (width: mass, colour: cost), and a heat map of the masses."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby
from xml.etree import ElementTree

from reranker.answers import ExplainAnswer
from reranker.ranking.explanation import Explanation

# More words could not be read. The others are summed up in bands, and named below the heat map.
_MAX_QUERY_WORDS = 25
_MAX_DOCUMENT_WORDS = 40
_BAND_PAIRS = 5
_OTHER = "other words"

# In px.
_WIDTH, _MARGIN, _TITLE = 900, 20, 46
_LEFT, _RIGHT, _NODE, _ROW, _MASS_HEIGHT = 250, 650, 10, 19, 420
_CELL, _HEAD, _LABEL_CHARS = 20, 130, 24

# Unrelated words cost about 1 with the cosine cost and 1.4 with the Euclidean cost.
_FAR_COST = 1.4
_NEAR, _FAR = (11, 110, 153), (217, 217, 217)
_INK, _SOFT = "#1b1f24", "#57606d"

Explained = Explanation | ExplainAnswer


@dataclass(frozen=True)
class _Flow:
    query: str
    document: str
    mass: float
    cost: float


def transport_svg(explanation: Explained, title: str) -> str:
    """The pictures as one SVG document, in one light style that prints.

    The bands show only the first pairs of a word; the heat map shows all pairs of `explanation`.
    """
    root = ElementTree.Element("svg", xmlns="http://www.w3.org/2000/svg")
    root.set("font-family", "system-ui, sans-serif")
    _text(root, _MARGIN, 24, title, size=16, weight="600")
    figures = f"distance {explanation.distance:.4f} by {explanation.method}; near is blue, far is grey"
    _text(root, _MARGIN, 42, figures, fill=_SOFT)
    bottom = _draw_bands(root, _band_flows(explanation), _TITLE + 14)
    width, height = _draw_heat_map(root, explanation, bottom + 24)
    width = max(_WIDTH, width)
    root.set("viewBox", f"0 0 {width} {height}")
    root.set("width", str(width))
    root.set("height", str(height))
    root.insert(0, ElementTree.Element("rect", width="100%", height="100%", fill="#ffffff"))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _band_flows(explanation: Explained) -> list[_Flow]:
    """The bands: one for each of the words' first pairs, and one to the other words for the rest."""
    flows = []
    for word in explanation.words[:_MAX_QUERY_WORDS]:
        shown = word.pairs[:_BAND_PAIRS]
        flows += [_Flow(word.word, pair.document_word, pair.mass, pair.cost) for pair in shown]
        rest = word.mass - sum(pair.mass for pair in shown)
        paid = word.distance - sum(pair.mass * pair.cost for pair in shown)
        flows += _rest(word.word, rest, paid)
    left = explanation.words[_MAX_QUERY_WORDS:]
    return flows + _rest(f"{len(left)} other words", sum(w.mass for w in left), sum(w.distance for w in left))


def _rest(query: str, mass: float, paid: float) -> list[_Flow]:
    return [_Flow(query, _OTHER, mass, paid / mass)] if mass > 1e-4 else []


def _draw_bands(root: ElementTree.Element, flows: list[_Flow], top: float) -> float:
    """Draws both columns of words and the bands between them. Returns the y below them."""
    query_words = list(dict.fromkeys(flow.query for flow in flows))
    left, left_end = _stack([(name, _mass(flows, "query", name)) for name in query_words], top)
    names = sorted({flow.document for flow in flows}, key=lambda name: _place(name, flows, left))
    right, right_end = _stack([(name, _mass(flows, "document", name)) for name in names], top)
    used: dict[tuple[str, str], float] = defaultdict(float)
    for flow in flows:
        thick = flow.mass * _MASS_HEIGHT
        ends = []
        for side, name, nodes in (("query", flow.query, left), ("document", flow.document, right)):
            ends.append(nodes[name][0] + used[side, name] + thick / 2)
            used[side, name] += thick
        start, end = ends
        middle = (_LEFT + _RIGHT) / 2
        path = f"M{_LEFT},{start:.1f} C{middle},{start:.1f} {middle},{end:.1f} {_RIGHT},{end:.1f}"
        band = ElementTree.SubElement(root, "path", d=path, fill="none", stroke=_colour(flow.cost))
        band.set("stroke-width", f"{max(0.75, thick):.2f}")
        band.set("stroke-opacity", "0.75")
        _tooltip(band, flow)
    for nodes, x, label_x, anchor in ((left, _LEFT - _NODE, _LEFT - 18, "end"), (right, _RIGHT, _RIGHT + 18, "start")):
        for name, (y, height) in nodes.items():
            box = {"x": str(x), "y": f"{y:.1f}", "width": str(_NODE), "height": f"{height:.1f}", "fill": _SOFT}
            ElementTree.SubElement(root, "rect", box)
            _text(root, label_x, y + height / 2 + 5, _clipped(name), anchor=anchor, size=14)
    return max(left_end, right_end)


def _mass(flows: list[_Flow], side: str, name: str) -> float:
    return sum(flow.mass for flow in flows if getattr(flow, side) == name)


def _place(name: str, flows: list[_Flow], left: dict[str, tuple[float, float]]) -> float:
    """The mean position of the query words of a document word's mass, so that few bands cross. The rest is last."""
    if name == _OTHER:
        return float("inf")
    into = [flow for flow in flows if flow.document == name]
    middles = (flow.mass * (left[flow.query][0] + left[flow.query][1] / 2) for flow in into)
    return sum(middles) / max(1e-12, sum(flow.mass for flow in into))


def _stack(masses: list[tuple[str, float]], top: float) -> tuple[dict[str, tuple[float, float]], float]:
    """The top and height of each word's bar, and the y below the last."""
    nodes = {}
    for name, mass in masses:
        height = max(1.5, mass * _MASS_HEIGHT)
        room = max(height + 5, _ROW)
        nodes[name] = (top + (room - height) / 2, height)
        top += room
    return nodes, top


def _draw_heat_map(root: ElementTree.Element, explanation: Explained, top: float) -> tuple[int, int]:
    """Draws query words in rows and document words in columns; the more mass moved, the darker the cell. Returns width
    and height."""
    words = explanation.words[:_MAX_QUERY_WORDS]
    flows = [_Flow(word.word, pair.document_word, pair.mass, pair.cost) for word in words for pair in word.pairs]
    by_word = sorted(flows, key=lambda flow: flow.document)
    received = {name: sum(f.mass for f in group) for name, group in groupby(by_word, key=lambda flow: flow.document)}
    columns = sorted(received, key=lambda name: (-received[name], name))[:_MAX_DOCUMENT_WORDS]
    most = max((flow.mass for flow in flows), default=1.0)
    y0 = top + _HEAD
    for row, word in enumerate(words):
        _text(root, _LEFT - 8, y0 + row * _CELL + 14, _clipped(word.word), anchor="end")
    for column, name in enumerate(columns):
        x = _LEFT + column * _CELL + 14
        label = _text(root, x, y0 - 6, _clipped(name))
        label.set("transform", f"rotate(-60 {x} {y0 - 6:.0f})")
    rows = {word.word: row for row, word in enumerate(words)}
    for flow in flows:
        if flow.document in columns:
            x, y = _LEFT + columns.index(flow.document) * _CELL, y0 + rows[flow.query] * _CELL
            box = {"x": str(x), "y": f"{y:.0f}", "width": str(_CELL - 1), "height": str(_CELL - 1)}
            cell = ElementTree.SubElement(root, "rect", box, fill="#0b5cad")
            cell.set("fill-opacity", f"{flow.mass / most:.3f}")
            _tooltip(cell, flow)
    note = f"darker cells have more mass; the darkest is {most:.3f}"
    if hidden := len(received) - len(columns):
        note += f"; {hidden} document words with less mass are not shown"
    bottom = y0 + len(words) * _CELL + 20
    _text(root, _LEFT, bottom, note, fill=_SOFT)
    return _LEFT + len(columns) * _CELL + 80, round(bottom + _MARGIN)


def _colour(cost: float) -> str:
    share = min(1.0, max(0.0, cost / _FAR_COST))
    return "#" + "".join(f"{round(near + share * (far - near)):02x}" for near, far in zip(_NEAR, _FAR, strict=True))


def _tooltip(element: ElementTree.Element, flow: _Flow) -> None:
    title = ElementTree.SubElement(element, "title")
    title.text = _printable(f"{flow.query} → {flow.document}: mass {flow.mass:.3f}, cost {flow.cost:.3f}")


def _text(
    root: ElementTree.Element,
    x: float,
    y: float,
    text: str,
    anchor: str = "start",
    size: int = 12,
    weight: str = "400",
    fill: str = _INK,
) -> ElementTree.Element:
    made = ElementTree.SubElement(root, "text", {"x": f"{x:.0f}", "y": f"{y:.1f}", "fill": fill, "text-anchor": anchor})
    made.set("font-size", str(size))
    made.set("font-weight", weight)
    made.text = _printable(text)
    return made


def _clipped(word: str) -> str:
    return word if len(word) <= _LABEL_CHARS else f"{word[: _LABEL_CHARS - 1]}…"


def _printable(text: str) -> str:
    """Removes control characters, which XML cannot contain."""
    return "".join(char if char.isprintable() else " " for char in text)
