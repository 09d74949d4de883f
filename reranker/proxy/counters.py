"""What the proxy counts since its start, for metrics and tests."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping


class Counters:
    """Numbers by name and label; safe to share between threads.

    searches    by `status/reason`: `applied`, `skipped/sorted`, `fallback/out_of_time`; each search of a multi-search
    requests    by `passed`: those that are no searches
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def add(self, name: str, label: str, n: int = 1) -> None:
        with self._lock:
            self._counts[name, label] += n

    def add_search(self, status: str, reason: str) -> None:
        self.add("searches", f"{status}/{reason}" if reason else status)

    def snapshot(self) -> Mapping[str, Mapping[str, int]]:
        """All numbers, by name and label."""
        with self._lock:
            counts = dict(self._counts)
        names = sorted({name for name, _ in counts})
        return {name: {label: n for (one, label), n in sorted(counts.items()) if one == name} for name in names}
