"""Turns the results of one kind of query into the remarks under their table: whether `auto` meets its goal, and how
many words have no embedding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from papers.held_out.experiment import TaskResult


@dataclass(frozen=True)
class Bar:
    """A goal for `auto` over the tasks of one kind of query.

    Attributes:
        against: methods to compare with; in each direction the best of them.
        allowed: how much lower the MRR of `auto` may be.
        worst: the lowest difference in MRR (`auto` minus the other method).
        direction: direction of the lowest difference.
    """

    against: tuple[str, ...]
    allowed: float
    worst: float
    direction: str

    @property
    def is_kept(self) -> bool:
        return self.worst >= -self.allowed

    def __str__(self) -> str:
        """`−0.009 against the better of relaxed and sinkhorn (en-fr; kept: 0.010 may be lost)`."""
        other = f"the better of {' and '.join(self.against)}" if len(self.against) > 1 else self.against[0]
        verdict = "kept" if self.is_kept else "not kept"
        return f"{self.worst:+.3f} against {other} ({self.direction}; {verdict}: {self.allowed:.3f} may be lost)"


# `auto` must match the better of two methods, and the first stage, which re-ranking must not make worse.
_BARS = ((("relaxed", "sinkhorn"), 0.01), (("nbow",), 0.005))


def bars(tasks: Sequence[TaskResult]) -> list[Bar]:
    """The goals whose methods were all measured, over tasks of one kind of query. The MRR is of all documents re-ranked
    if they were, otherwise of the candidates."""
    by_direction = [(str(task.direction), _mrr(task)) for task in tasks]
    found = []
    for against, allowed in _BARS:
        if all(mrr.keys() >= {"auto", *against} for _, mrr in by_direction):
            behind = [(mrr["auto"] - max(mrr[each] for each in against), name) for name, mrr in by_direction]
            worst, direction = min(behind)
            found.append(Bar(against, allowed, worst, direction))
    return found


def _mrr(task: TaskResult) -> dict[str, float]:
    return {result.method: (result.everything or result.two_stage)["MRR"] for result in task.methods}


def remarks(tasks: Sequence[TaskResult], unknown_words: str) -> list[str]:
    """The remarks on tasks of one kind of query.

    Args:
        unknown_words: rule for words without an embedding.
    """
    found = [f"auto, MRR in the worst direction: {bar}." for bar in bars(tasks)]
    by = "" if unknown_words == "skip" else f" by rule {unknown_words} (and by skip)"
    shares = ", ".join(_unknown_shares(task, unknown_words) for task in tasks)
    found.append(f"Words without an embedding, queries and documents{by}: {shares}.")
    if any(task.stripped for task in tasks):
        removed = ", ".join(
            f"{task.direction} {task.stripped.removed_share:.1%} ({task.stripped.n_empty})"
            for task in tasks
            if task.stripped
        )
        found.append(
            f"Stripped: identical spellings removed, share of the queries' words (queries left without any): {removed}."
        )
    return found


def _unknown_shares(task: TaskResult, unknown_words: str) -> str:
    line = f"{task.direction} {_both(task.unknown_shares)}"
    return line if unknown_words == "skip" else f"{line} ({_both(task.skipped_shares)})"


def _both(shares: tuple[float, float]) -> str:
    return f"{shares[0]:.1%} and {shares[1]:.1%}"
