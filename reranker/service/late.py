"""Makes a thing once, as soon as it can be made: until then there is None."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Late(Generic[Made]):
    """Safe to share between threads.

    Args:
        make: gives None as long as the thing cannot be made. What it raises is raised, and the next call tries again.
    """

    def __init__(self, make: Callable[[], Made | None]) -> None:
        self._make = make
        self._made: Made | None = None
        self._lock = threading.Lock()

    def get(self) -> Made | None:
        """The thing, the same at each call."""
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = self._make()
        return self._made
