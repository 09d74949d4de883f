"""Turns results into a report: tables for the terminal, Markdown and JSON, with nothing about the machine."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rich.table import Table

from papers.base.markdown import table as markdown_table
from papers.corpora import gnome, manpages
from papers.corpora.development import DEVELOPMENT_SUFFIX, shared_paragraph_share
from papers.corpora.tasks import MIN_TOKENS, N_FIRST_TOKENS
from papers.held_out import by_method, side_by_side
from papers.held_out.experiment import FittedSystem, Plan, TaskResult
from papers.held_out.remarks import bars, remarks
from reranker.base.whole_files import write_whole
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import SAMPLE_QUERIES, SAMPLE_TOKENS
from sinkrank.demo.pages import Corpus, Page
from sinkrank.demo.trained import source_of

FORMAT = 1
JSON_NAME, MARKDOWN_NAME = "evaluation.json", "evaluation.md"

# Description, source and licence of each corpus.
_SOURCES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "libreoffice": {
            "title": "LibreOffice help pages",
            "source": "Debian packages libreoffice-help-{en-us,fr,de,fi,el,sv}",
            "licence": "MPL-2.0, the LibreOffice contributors",
        },
        "gnome": {"title": "GNOME's help", "source": gnome.SOURCE, "licence": gnome.LICENCE},
        "manpages": {"title": "Linux's manual pages", "source": manpages.SOURCE, "licence": manpages.LICENCE},
        "texts": {
            "title": "Short parallel texts shipped with Sinkrank",
            "source": "ingest/embeddings/sample_texts, written for Sinkrank",
            "licence": "Apache-2.0",
        },
    }
)

_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "pages": "the whole page asks for its translation",
        **{
            kind: f"the first {n} words of a page, stop words not counted, ask for its translation"
            for kind, n in N_FIRST_TOKENS.items()
        },
        "halves": "the first half of a page asks for the second half of its translation, no paragraph in common",
    }
)


@dataclass(frozen=True)
class Report:
    """Everything needed to understand and reproduce the figures.

    Attributes:
        left_out: number of pages that the corpus's rules removed, by "rule/language".
        seen_share: share (0 to 1, by words) of the test pages' text in paragraphs that a training page has.
        learned_from: corpus of the training pages.
        trained_on: the corpus, a hash of its training units and the seed; None for embeddings from other sources.
        systems: other systems that were measured.
    """

    corpus: str
    languages: tuple[str, ...]
    n_train_pages: Mapping[str, int]
    n_test_pages: Mapping[str, int]
    left_out: Mapping[str, int]
    seen_share: float
    learned_from: str
    embeddings_version: str
    n_terms: int
    dim: int
    trained_on: Mapping[str, Any] | None
    plan: Plan
    tasks: tuple[TaskResult, ...]
    systems: tuple[FittedSystem, ...] = ()

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        embeddings: Embeddings,
        plan: Plan,
        tasks: Iterable[TaskResult],
        systems: Iterable[FittedSystem] = (),
        *,
        learned_from: Corpus | None = None,
    ) -> Report:
        """Makes the report of an evaluation. `learned_from` is the corpus of the training pages; None for the same."""
        learned_from = learned_from or corpus
        return cls(
            corpus=corpus.name,
            languages=tuple(corpus.languages),
            n_train_pages=_count(corpus.train_pages),
            n_test_pages=_count(corpus.test_pages),
            left_out=dict(corpus.left_out),
            seen_share=shared_paragraph_share(corpus.train_pages, corpus.test_pages),
            learned_from=learned_from.name,
            embeddings_version=embeddings.version,
            n_terms=embeddings.n_terms,
            dim=embeddings.dim,
            trained_on=source_of(learned_from) if is_trained_on(embeddings, learned_from) else None,
            plan=plan,
            tasks=tuple(tasks),
            systems=tuple(systems),
        )

    def as_json(self) -> dict[str, Any]:
        """The report as values that JSON can represent; directions as `fi-en`."""
        plan = asdict(self.plan) | {"directions": [str(each) for each in self.plan.directions]}
        tasks = [asdict(task) | {"direction": str(task.direction)} for task in self.tasks]
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        systems = [asdict(system) for system in self.systems]
        bars_of_auto = {
            kind: [asdict(bar) | {"is_kept": bar.is_kept} for bar in bars(tasks)]
            for kind, tasks in _by_kind(self.tasks)
        }
        whole = {
            "format": FORMAT,
            **fields,
            **_source(self.corpus),
            "plan": plan,
            "tasks": tasks,
            "systems": systems,
            "bars_of_auto": bars_of_auto,
        }
        return dict(json.loads(json.dumps(whole)))


def tables(report: Report) -> list[Table]:
    """Makes the tables for the terminal: one for each kind of query, and a second one if systems were measured."""
    found = []
    for query_kind, tasks in _by_kind(report.tasks):
        title = f"{query_kind}: {_KINDS[query_kind]}"
        table = _table(title, by_method.columns(report.plan), _by_direction(by_method.rows(tasks)))
        table.caption, table.caption_justify = "\n".join(remarks(tasks, report.plan.unknown_words)), "left"
        found.append(table)
        if report.systems:
            rows = side_by_side.rows(tasks)
            found.append(
                _table(f"{query_kind}: all documents ranked, CPU time", side_by_side.COLUMNS, _by_direction(rows))
            )
    return found


def _table(title: str, columns: Sequence[str], sections: Iterable[Sequence[Sequence[str]]]) -> Table:
    table = Table(title=title, title_justify="left", header_style="bold")
    for n, name in enumerate(columns):
        table.add_column(name, justify="left" if n < 2 else "right", no_wrap=n == 1)  # the method, whole
    for rows in sections:
        for row in rows:
            table.add_row(*row)
        table.add_section()
    return table


def _by_direction(rows: Iterable[list[str]]) -> list[list[list[str]]]:
    return [list(group) for _, group in groupby(rows, key=lambda row: row[0])]


def markdown(report: Report) -> str:
    """The report in Markdown."""
    source = _source(report.corpus)
    plan = report.plan
    of_another = "" if report.learned_from == report.corpus else f", of the corpus {report.learned_from}"
    limit = "all test pages" if plan.limit is None else f"at most {plan.limit} test pages"
    lines = [
        f"# Evaluation on {source.get('title', report.corpus)}",
        "",
        f"- Corpus: {source.get('source', report.corpus)} ({source.get('licence', 'licence not known')})",
        f"- Pages to train on{of_another}: {_listed(report.n_train_pages)}; held out: {_listed(report.n_test_pages)}",
        f"- Left out before the split, by rule: {_listed(report.left_out) or 'none'}",
        f"- Share of the held-out text in paragraphs that a training page has too: {report.seen_share:.1%}",
        f"- Embeddings: version {report.embeddings_version}, {report.n_terms} words of {report.dim} dimensions, "
        + ("not trained here" if report.trained_on is None else "trained on the training pages alone"),
        f"- Each task: {limit}, drawn with seed {plan.seed}, of those that both languages have and whose "
        f"query and document have {MIN_TOKENS} words or more; the page's translation is the one relevant document",
        f"- First stage: exact kNN by the cosine of the nBOW embeddings; its {plan.depth} best are re-ranked",
        f"- idf: per language, over the task's own documents; epsilon {plan.parameters.epsilon:g}, "
        f"{plan.parameters.n_iterations} iterations, tau "
        f"{'epsilon' if plan.parameters.tau is None else format(plan.parameters.tau, 'g')}",
        f"- Hubness, in `auto`: by the first {SAMPLE_TOKENS} words of at most {SAMPLE_QUERIES} training pages in the "
        "query's language, which neither ask nor are searched; a query word without an embedding is looked for as it "
        "is written",
        f"- Words without an embedding: rule `{plan.unknown_words}`",
        f"- R@{plan.depth} is that of the first stage: no re-ranking of its candidates can come above it. "
        "With one relevant document a query, P@10 is at most 0.1.",
        f"- *{by_method.STRIPPED}*: identical spellings removed: each query without the words that any document "
        "holds in the same spelling, over the first stage's candidates; a query of no other words counts as 0",
    ]
    lines += _about_systems(report.systems)
    for query_kind, tasks in _by_kind(report.tasks):
        lines += ["", f"## {query_kind}", "", f"{_KINDS[query_kind][0].upper()}{_KINDS[query_kind][1:]}.", ""]
        lines += markdown_table(by_method.columns(plan), by_method.rows(tasks), 2)
        if report.systems:
            lines += ["", side_by_side.READING, "", *markdown_table(side_by_side.COLUMNS, side_by_side.rows(tasks), 2)]
        for remark in remarks(tasks, plan.unknown_words):
            lines += ["", remark]
        lines += [note for task in tasks for note in _notes(task)]
    return "\n".join(lines) + "\n"


def write(report: Report, folder: Path) -> tuple[Path, Path]:
    """Writes `evaluation.json` and `evaluation.md`; each appears whole or not at all."""
    as_json, as_markdown = folder / JSON_NAME, folder / MARKDOWN_NAME
    write_whole(as_json, (json.dumps(report.as_json(), indent=2, ensure_ascii=False) + "\n").encode())
    write_whole(as_markdown, markdown(report).encode())
    return as_json, as_markdown


def _about_systems(systems: Sequence[FittedSystem]) -> list[str]:
    if not systems:
        return []
    lines = ["- Measured beside the methods, with the CPU time that each took to fit:"]
    for each in systems:
        lines.append(f"    - {each.name} ({each.fit_s:.1f} s): {each.description}")
        lines += [f"      - with {each.data}"] if each.data else []
    return lines


def _notes(task: TaskResult) -> list[str]:
    notes = []
    if task.left_out:
        notes += ["", f"Left out in {task.direction}: {_listed(task.left_out)}."]
    if task.n_unknown:
        notes += ["", f"Queries without a known word in {task.direction}: {task.n_unknown}; they count as 0."]
    return notes


def _source(corpus: str) -> Mapping[str, str]:
    """The description of the corpus, with a note if it is its development half."""
    source = _SOURCES.get(corpus.removesuffix(DEVELOPMENT_SUFFIX), {})
    if source and corpus.endswith(DEVELOPMENT_SUFFIX):
        return {**source, "title": f"{source['title']}, development half of the training pages"}
    return source


def _by_kind(tasks: Sequence[TaskResult]) -> Iterable[tuple[str, list[TaskResult]]]:
    return [(kind, list(group)) for kind, group in groupby(tasks, key=lambda task: task.query_kind)]


def _count(pages: Iterable[Page]) -> dict[str, int]:
    return dict(Counter(page.language for page in pages))


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n}" for name, n in counts.items())


def is_trained_on(embeddings: Embeddings, corpus: Corpus) -> bool:
    """Whether these embeddings were trained on exactly this corpus's training pages, alone or with a sentence encoder
    (`sinkrank.demo.prepared`)."""
    source = embeddings.meta.get("source")
    return isinstance(source, dict) and source_of(corpus).items() <= source.items()
