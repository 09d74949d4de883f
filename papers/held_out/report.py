"""Turns results into a report in Markdown, with nothing about the machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import MappingProxyType

from papers.base.markdown import table
from papers.corpora import gnome, manpages
from papers.corpora.development import DEVELOPMENT_SUFFIX, shared_paragraph_share
from papers.corpora.tasks import MIN_TOKENS, N_FIRST_TOKENS
from papers.held_out import by_method, side_by_side
from papers.held_out.experiment import FittedSystem, Plan, TaskResult
from papers.held_out.remarks import remarks
from reranker.base.whole_files import write_whole
from reranker.embeddings import Embeddings
from reranker.embeddings.hubness import SAMPLE_QUERIES, SAMPLE_TOKENS
from sinkrank.demo.pages import Corpus, CorpusPage
from sinkrank.demo.trained import source_of

NAME = "evaluation.md"

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


@dataclass(frozen=True, eq=False)
class Report:
    """Everything needed to understand and reproduce the figures.

    Attributes:
        learned_from: corpus of the training pages; None for the same.
        systems: other systems that were measured.
    """

    corpus: Corpus
    embeddings: Embeddings
    plan: Plan
    tasks: Sequence[TaskResult]
    systems: Sequence[FittedSystem] = ()
    learned_from: Corpus | None = None


def markdown(report: Report) -> str:
    """The report in Markdown."""
    corpus, embeddings, plan = report.corpus, report.embeddings, report.plan
    learned_from = report.learned_from or corpus
    source = _source(corpus.name)
    of_another = "" if learned_from is corpus else f", of the corpus {learned_from.name}"
    limit = "all test pages" if plan.limit is None else f"at most {plan.limit} test pages"
    seen_share = shared_paragraph_share(corpus.train_pages, corpus.test_pages)
    lines = [
        f"# Evaluation on {source.get('title', corpus.name)}",
        "",
        f"- Corpus: {source.get('source', corpus.name)} ({source.get('licence', 'licence not known')})",
        f"- Pages to train on{of_another}: {_listed(_count(corpus.train_pages))}; held out: "
        f"{_listed(_count(corpus.test_pages))}",
        f"- Left out before the split, by rule: {_listed(corpus.left_out) or 'none'}",
        f"- Share of the held-out text in paragraphs that a training page has too: {seen_share:.1%}",
        f"- Embeddings: version {embeddings.version}, {embeddings.n_terms} words of {embeddings.dim} dimensions, "
        + ("trained on the training pages alone" if is_trained_on(embeddings, learned_from) else "not trained here"),
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
        lines += table(by_method.columns(plan), by_method.rows(tasks), 2)
        if report.systems:
            lines += ["", side_by_side.READING, "", *table(side_by_side.COLUMNS, side_by_side.rows(tasks), 2)]
        for remark in remarks(tasks, plan.unknown_words):
            lines += ["", remark]
        lines += [note for task in tasks for note in _notes(task)]
    return "\n".join(lines) + "\n"


def write(report: Report, folder: Path) -> Path:
    """Writes `evaluation.md`, which appears whole or not at all, and returns its path."""
    write_whole(folder / NAME, markdown(report).encode())
    return folder / NAME


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


def _count(pages: Iterable[CorpusPage]) -> dict[str, int]:
    return dict(Counter(page.language for page in pages))


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n}" for name, n in counts.items())


def is_trained_on(embeddings: Embeddings, corpus: Corpus) -> bool:
    """Whether these embeddings were trained on exactly this corpus's training pages, alone or with a sentence encoder
    (`sinkrank.demo.prepared`)."""
    source = embeddings.meta.get("source")
    return isinstance(source, dict) and source_of(corpus).items() <= source.items()
