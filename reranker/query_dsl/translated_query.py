"""Writes a query in the languages of the documents: word groups in place of its texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reranker.query_dsl.clauses import Content, has_functions, is_too_long, read_clause
from reranker.query_dsl.nodes import Field, Group, Kind, Leaf, Node
from reranker.query_dsl.scoring import FieldTypes, no_field_types
from reranker.query_dsl.syntax import is_plain_lucene, is_plain_simple
from reranker.translation import WordGroup
from reranker.translation.engine_query import MAX_CLAUSES, Clause, group_clauses

# Of a clause that names no fields, or a pattern of names: how many it may be.
_GUESSED_FIELDS = 10
# What a word keeps of its clause. Fuzziness is for misspelled words, and a translation is none.
_COMMON_OPTIONS = ("analyzer", "fields", "lenient", "tie_breaker", "type")
_ALL = "100%"
# Where the queries lie that score within a query.
_INNER = {"bool": ("must", "should"), "dis_max": ("queries",), "nested": ("query",), "function_score": ("query",)}
_OPERATORS = ("operator", "default_operator")


@dataclass(frozen=True, slots=True)
class TranslatedText:
    """A text in one language of the documents, of which there are `n_documents`; None where that is not known."""

    language: str
    groups: Sequence[WordGroup]
    n_documents: int | None


Translate = Callable[[Sequence[str]], Mapping[str, Sequence[TranslatedText]]]
"""From texts to what each is in each language of the documents; those without a word that can be translated are
missing."""


def translated_query(clause: Any, translate: Translate, types: FieldTypes = no_field_types) -> Any:
    """The query with word groups in place of its texts; None where there is nothing to translate.

    Args:
        types: of the fields; a text on a field that holds none stays.

    >>> translated_query({"term": {"id": "7"}}, lambda texts: {})
    """
    if is_too_long(clause):
        return None
    texts: list[Leaf] = []
    _rewritten(clause, lambda kind, content, leaves: texts.extend(leaf for leaf in leaves if leaf.text.strip()))
    if not texts:
        return None
    names = {one.name for leaf in texts for one in leaf.fields if "*" not in one.name}
    known = types(sorted(names)) if names else {}
    others = frozenset(name for name, kind in known.items() if not kind.is_text)
    translated = translate(list(dict.fromkeys(leaf.text for leaf in texts)))
    n_clauses = sum(_n_fields(leaf) * len(translated.get(leaf.text, ())) for leaf in texts)
    written = _rewritten(clause, _Writer(translated, others, max(1, MAX_CLAUSES // max(1, n_clauses))).clause)
    return None if written == clause else written


def _rewritten(clause: Any, write: Callable[[str, Content, Sequence[Leaf]], Clause | None]) -> Any:
    """The query with what `write` makes of each clause with texts that can be translated; where that is None the clause
    stays.

    Args:
        write: gets the clause's kind, its content, and the texts.
    """
    if not isinstance(clause, Mapping) or len(clause) != 1:
        return clause
    ((kind, content),) = clause.items()
    if not isinstance(content, Mapping):
        return clause
    if _is_container(kind, content):
        changed = {}
        for name, inner in [(name, content[name]) for name in _INNER[kind] if name in content]:
            is_list = isinstance(inner, list)
            written = [_rewritten(one, write) for one in (inner if is_list else [inner])]
            changed[name] = written if is_list else written[0]
        return {kind: {**content, **changed}}
    leaves = _texts(kind, content) if kind in _WORD_CLAUSES else []
    return write(kind, content, leaves) or clause if leaves else clause


def _is_container(kind: str, content: Content) -> bool:
    if kind == "function_score":
        return not has_functions(content)
    return kind in _INNER and not (kind == "nested" and content.get("score_mode") == "none")


def _texts(kind: str, content: Content) -> list[Leaf]:
    """The texts of a clause, as the proxy reads it; none where it says more than words and fields."""
    text = content.get("query")
    if kind == "query_string" and not (isinstance(text, str) and is_plain_lucene(text)):
        return []
    if kind == "simple_query_string" and not (isinstance(text, str) and is_plain_simple(text)):
        return []
    return _plain(read_clause({kind: content}))


def _plain(node: Node) -> list[Leaf]:
    leaves = list(node.must) if isinstance(node, Group) else [node]
    is_text = all(isinstance(leaf, Leaf) and leaf.kind is Kind.TEXT for leaf in leaves)
    is_text = is_text and not (isinstance(node, Group) and (node.reason or node.should))
    return [leaf for leaf in leaves if isinstance(leaf, Leaf)] if is_text else []


def _n_fields(leaf: Leaf) -> int:
    return sum(_GUESSED_FIELDS if "*" in one.name else 1 for one in leaf.fields) or _GUESSED_FIELDS


class _Writer:
    """Writes one query anew.

    Args:
        translated: the texts in other languages.
        others: fields that hold no text.
        max_words: of one text in one language.
    """

    def __init__(
        self, translated: Mapping[str, Sequence[TranslatedText]], others: frozenset[str], max_words: int
    ) -> None:
        self._translated = translated
        self._others = others
        self._max_words = max_words

    def clause(self, kind: str, content: Content, leaves: Sequence[Leaf]) -> Clause | None:
        """None where it stays as it is."""
        if any(leaf.fields and all(one.name in self._others for one in leaf.fields) for leaf in leaves):
            return None
        options = _options(kind, content)
        found = [one for leaf in leaves if (one := self._leaf(kind, leaf, options)) is not None]
        if not found:
            return None
        written = found[0] if len(found) == 1 else {"bool": {"must" if _needs_all(kind, options) else "should": found}}
        outer = {name: options[name] for name in ("boost", "_name") if name in options}
        return {"bool": {"must": [written], **outer}} if outer else written

    def _leaf(self, kind: str, leaf: Leaf, options: Content) -> Clause | None:
        """One text in all languages: it counts in the language in which it fits best."""

        def word_clause(word: str, boost: float) -> Clause:
            return _WORD_CLAUSES[kind](word, boost * own_boost, leaf.fields, options)

        # Within a query string a word has a boost of its own; elsewhere the boost is the clause's, and stands there.
        own_boost = leaf.boost if kind in _SYNTAXES else 1.0
        found = []
        for text in self._translated.get(leaf.text, ()):
            clauses = group_clauses(text.groups, word_clause, text.n_documents, self._max_words)
            if clauses:
                least = _least(kind, options, len(clauses))
                found.append(
                    {"bool": {"should": clauses, **({} if least is None else {"minimum_should_match": least})}}
                )
        if not found:
            return None
        return found[0] if len(found) == 1 else {"dis_max": {"queries": found}}


def _options(kind: str, content: Content) -> Content:
    """What a clause says beside its text: in `match` by its field."""
    if kind not in _BY_FIELD:
        return content
    value = next((value for name, value in content.items() if name not in ("boost", "_name")), None)
    outer = {name: content[name] for name in ("boost", "_name") if name in content}
    return {**outer, **(value if isinstance(value, Mapping) else {})}


def _needs_all(kind: str, options: Content) -> bool:
    is_phrase = kind == "match_phrase" or options.get("type") == "phrase"
    return is_phrase or any(str(options.get(name, "")).lower() == "and" for name in _OPERATORS)


def _least(kind: str, options: Content, n_groups: int) -> Any:
    """How many groups have to match: the caller's word, and all of them for a phrase, whose order another language
    does not keep."""
    if _needs_all(kind, options):
        return _ALL
    least = options.get("minimum_should_match")
    try:
        return least if least is None else min(int(least), n_groups)
    except (TypeError, ValueError, OverflowError):
        return least  # "75%", "3<75%"


def _common_options(options: Content) -> dict[str, Any]:
    common = {name: options[name] for name in _COMMON_OPTIONS if name in options}
    if common.get("type") == "phrase":
        del common["type"]
    return common


def _match(word: str, boost: float, fields: Sequence[Field], options: Content) -> Clause:
    common = {name: value for name, value in _common_options(options).items() if name in ("analyzer", "lenient")}
    return {"match": {fields[0].name: {"query": word, "boost": boost, **common}}}


def _multi_match(word: str, boost: float, fields: Sequence[Field], options: Content) -> Clause:
    return {"multi_match": {**_common_options(options), "query": word, "boost": boost}}


def _combined_fields(word: str, boost: float, fields: Sequence[Field], options: Content) -> Clause:
    return {"combined_fields": {"fields": options.get("fields"), "query": word, "boost": boost}}


def _of_syntax(word: str, boost: float, fields: Sequence[Field], options: Content) -> Clause:
    common = {name: value for name, value in _common_options(options).items() if name != "fields"}
    if fields:
        common["fields"] = [f"{one.name}^{one.boost:g}" if one.boost != 1.0 else one.name for one in fields]
        if any("*" in one.name for one in fields):
            common.setdefault("lenient", True)  # as in a query string
    return {"multi_match": {**common, "query": word, "boost": boost}}


_BY_FIELD = frozenset(["match", "match_phrase"])
_SYNTAXES = frozenset(["query_string", "simple_query_string"])
_WORD_CLAUSES: Mapping[str, Callable[[str, float, Sequence[Field], Content], Clause]] = {
    "match": _match,
    "match_phrase": _match,
    "multi_match": _multi_match,
    "combined_fields": _combined_fields,
    "query_string": _of_syntax,
    "simple_query_string": _of_syntax,
}
