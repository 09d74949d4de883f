"""Answers as tables for a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from reranker.answers.explanation import ExplainAnswer, Standing
from reranker.answers.search import Hit, ScoreParts, SearchAnswer
from reranker.answers.sources import DocumentShare, EncoderSource, ScoreSources
from reranker.ranking.corrections import HUBNESS_WEIGHT
from sinkrank.console import output

_TITLE_CHARS = 60
# Width of a terminal with room for titles and ids side by side. In a narrower one an id is below its title.
_WIDE = 120


def methods_table(names: Sequence[str], columns: Mapping[str, Sequence[str]]) -> Table:
    """A row of figures for each method.

    Args:
        columns: the figures of all rows, by the name of the column.
    """
    table = output.table()
    table.add_column("method", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for name, *cells in zip(names, *columns.values(), strict=True):
        table.add_row(name, *cells)
    return table


def search_table(answer: SearchAnswer, width: int) -> Table:
    """The hits, with new rank and score beside those of the first stage.

    Args:
        width: width of the terminal in columns.
    """
    table = output.table()
    for name in ("rank", "score", f"{answer.first_stage} rank", f"{answer.first_stage} score"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("lang", no_wrap=True)
    is_wide = width >= _WIDE
    if is_wide:
        table.add_column("title", overflow="ellipsis", no_wrap=True, max_width=_TITLE_CHARS, ratio=2)
        table.add_column("id", overflow="fold", ratio=1)
    else:
        table.add_column("title, id", overflow="fold")
    for hit in answer.hits:
        title, doc_id = plain(hit.title or hit.text[:_TITLE_CHARS]), plain(hit.id)
        title.stylize("bold")
        table.add_row(
            Text(str(hit.rank), style=_movement_style(hit)),
            f"{hit.score:.4f}",
            str(hit.first_stage_rank),
            Text(f"{hit.first_stage_score:z.4f}", style="dim"),
            hit.language,
            *((title, doc_id) if is_wide else (Text("\n").join((title, doc_id)),)),
        )
    return table


def _movement_style(hit: Hit) -> str:
    """Green for a hit that moved up, red for one that moved down."""
    if hit.rank < hit.first_stage_rank:
        return "bold green"
    return "red" if hit.rank > hit.first_stage_rank else "bold"


def search_footer(answer: SearchAnswer) -> str:
    """The lines below the table: candidates, method and times."""
    took = answer.took_ms
    if not answer.n_candidates:
        lines = ["no document was found"]
    else:
        how = "in the first stage's order"
        if answer.method != "none":
            way = f"{answer.method}{' with feedback' if answer.has_feedback else ''} ({answer.precision})"
            how = f"{answer.n_reranked:,} re-ranked by {way} in {took['rerank']:.1f} ms"
        lines = [
            f"{answer.n_candidates:,} found by {answer.first_stage} in {took['first_stage']:.1f} ms, "
            f"{how}; the query was read as {answer.language!r}"
        ]
    if answer.unknown_words:
        lines.append(f"words without an embedding: {', '.join(answer.unknown_words)}")
    return "\n".join(lines)


def explanation_table(explanation: ExplainAnswer) -> Table:
    """Each query word, the document words that its mass goes to, and the costs. The last line is the distance."""
    table = output.table(show_footer=True)
    distance = f"{explanation.distance:.4f}"
    table.add_column("query word", footer=f"{explanation.method} distance")
    table.add_column("weight", justify="right", footer=f"{sum(word.mass for word in explanation.words):.4f}")
    table.add_column("document word")
    table.add_column("mass", justify="right")
    table.add_column("cost", justify="right")
    table.add_column("mass · cost", justify="right", footer=distance)
    table.add_column("share", justify="right", footer="100.0 %" if explanation.distance > 0 else "")
    for word in explanation.words:
        rows = [
            (plain(pair.document_word), f"{pair.mass:.4f}", f"{pair.cost:z.4f}", pair.mass * pair.cost, pair.share)
            for pair in word.pairs
        ]
        # The last digit shown: what is less would be a row of zeros.
        if word.rest_mass >= 5e-5 or word.rest_distance >= 5e-5:
            share = word.rest_distance / explanation.distance if explanation.distance > 0 else 0.0
            cost = f"{word.rest_distance / word.rest_mass:z.4f}" if word.rest_mass > 0 else ""
            rows.append((Text("all others", style="dim"), f"{word.rest_mass:.4f}", cost, word.rest_distance, share))
        for place, (document_word, mass, cost, part, share) in enumerate(rows):
            head = (plain(word.word), f"{word.mass:.4f}") if place == 0 else (Text(), "")
            table.add_row(*head, document_word, mass, cost, f"{part:z.4f}", f"{100 * share:z.1f} %")
    return table


def encoder_table(encoder: EncoderSource) -> Table:
    """The words that carry the part `encoder` of a score, and what else is in it. The last line is the part."""
    table = output.table(show_footer=True)
    rows = [(plain(word.word), word.part) for word in encoder.words]
    others = {
        "all others": encoder.other_words,
        "counted from the least cosine of all candidates": encoder.window_offset,
        "a field is the query word for word": encoder.exact_match,
    }
    rows += [(Text(told, style="dim"), part) for told, part in others.items() if abs(part) >= 5e-5]
    table.add_column("document word", footer="the sentence encoder's part")
    table.add_column("part", justify="right", footer=f"{sum(part for _, part in rows):z.4f}")
    for told, part in rows:
        table.add_row(told, f"{part:z.4f}")
    return table


def _source_lines(sources: ScoreSources) -> Iterator[str]:
    """What feedback and neighbours came from."""

    def named(documents: Sequence[DocumentShare]) -> str:
        return ", ".join(f"{plain(each.id).plain} ({each.share:.0%})" for each in documents)

    feedback, neighbours = sources.feedback, sources.neighbours
    if feedback is not None and feedback.words:
        words = ", ".join(f"{each.word} {each.weight:.3f}" for each in feedback.words)
        yield f"Feedback: the query gained {words}, … from {named(feedback.documents)}, …"
    if neighbours is not None and neighbours.documents:
        yield f"Neighbours: it resembles {named(neighbours.documents)}"


def explanation_footer(explanation: ExplainAnswer) -> str:
    """The lines below the table: the meaning of the costs, and the sum that orders the candidates if that is not the
    distance alone."""
    lines = [f"cost: {explanation.cost_meaning}. The column mass · cost sums to the distance."]
    if explanation.unknown_words:
        named = ", ".join(explanation.unknown_words)
        lines.append(f"words without an embedding, not part of the distance: {named}")
    if explanation.score_parts is not None:
        lines.append(_score_line(explanation.score, explanation.score_parts))
        if explanation.score_sources is not None:
            lines += _source_lines(explanation.score_sources)
    elif explanation.order_distance != explanation.distance:
        of = explanation.order_parts
        parts = [f"{of.words:.4f} (known words: {1.0 - explanation.unknown_share:.4f} · the distance)"]
        if explanation.unknown_share:
            lacking = ", ".join(explanation.lacking_words) or "none"
            parts.append(f"{of.lacking_words:.4f} (words without an embedding that the document lacks: {lacking})")
        if explanation.hubness is not None:
            parts.append(f"{of.hubness:.4f} (hubness: {HUBNESS_WEIGHT} · {explanation.hubness:.4f})")
        lines.append(f"The candidates are ordered by {explanation.order_distance:.4f} = {' + '.join(parts)}")
    lines += _standing_lines(explanation.standing)
    return "\n".join(lines)


def _standing_lines(standing: Standing) -> Iterator[str]:
    """Where the document stands, by how much it misses the first page, and what it lacks."""
    by_first_stage = f"rank {standing.first_stage_rank} in the first stage"
    yield {
        None: f"It is on the first page: rank {standing.rank or standing.first_stage_rank}, {by_first_stage}.",
        "score": f"It is not on the first page: rank {standing.rank} of {standing.n_candidates}, {by_first_stage}.",
        "window": f"It is not re-ranked: {by_first_stage}, and {standing.n_candidates} candidates are re-ranked.",
        "first_stage": "The first stage does not find it.",
    }[standing.fell_at]
    behind, parts = standing.score_behind, standing.parts_behind
    if behind is not None and behind < 0:
        yield f"Among the candidates it would be on the first page, {-behind:.4f} above its last hit."
    elif behind is not None:
        told = () if parts is None else ((parts[name], told) for name, told in _PART_NAMES.items())
        listed = ", ".join(f"{value:+.4f} ({told})" for value, told in told if abs(value) >= 5e-5)
        yield f"The last hit of the first page scores {behind:.4f} more{listed and f': {listed}'}"
    if standing.lacking_query_words:
        near = {each.query_word: each.word for each in standing.near_words}
        words = [f"{word} (near: {near[word]})" if word in near else word for word in standing.lacking_query_words]
        yield f"It lacks words of the query: {', '.join(words)}"


# What the parts of a score come from; those that are always there come first.
_PART_NAMES = {
    "first_stage": "the first stage's score",
    "coverage": "words of the query that it contains",
    "words": "near words",
    "feedback": "words of the best candidates",
    "neighbours": "candidates that it resembles",
    "encoder": "the query as a whole, by the sentence encoder",
    "lacking_words": "words without an embedding that the document lacks",
    "hubness": "hubness",
    "window": "every candidate",
}


def _score_line(score: float, parts: ScoreParts) -> str:
    named = [(parts[name], told) for name, told in _PART_NAMES.items()]
    terms = " + ".join(f"{value:.4f} ({told})" for value, told in named if value)
    return f"The score is {score:.4f} = {terms}".replace("+ -", "- ")


def telling_pairs(explanation: ExplainAnswer, n: int) -> list[str]:
    """The pairs that contributed most, `chat → cat (mass 0.120, cost 0.40)`; fewer if fewer contributed."""
    return [
        f"{pair.query_word} → {pair.document_word} (mass {pair.mass:.3f}, cost {pair.cost:z.2f})"
        for pair in explanation.telling_pairs[:n]
        if pair.mass >= 0.0005
    ]


def plain(text: str) -> Text:
    """A text of a document in one line."""
    return Text("".join(" " if unicodedata.category(char) in ("Cc", "Zl", "Zp") else char for char in text))
