"""Locks the versions of an index, since two runs would delete or replace each other's."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Self

from reranker.base.errors import BadInput, StoreUnavailable
from reranker.stores.base.protocol import WritableStore

# How long other runs wait after this one was killed, and how long this one may lose its connection to the store.
CLAIM_SECONDS = 60.0
_RENEWALS_A_CLAIM = 4


class Claim:
    """The lock. It is held while the context lasts; a thread renews it."""

    def __init__(self, store: WritableStore, index: str, owner: str, seconds: float = CLAIM_SECONDS) -> None:
        """
        Args:
            owner: name of the run; a continued run keeps it.
        """
        self._store = store
        self._index = index
        self._owner = owner
        self._seconds = seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="claim", daemon=True)
        self._lost: BadInput | None = None

    def __enter__(self) -> Self:
        """
        Raises:
            BadInput: another run holds the lock.
            StoreUnavailable: the store cannot be asked.
        """
        self._take()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        with suppress(StoreUnavailable):  # it runs out by itself
            self._store.release(self._index, self._owner)

    def check(self) -> None:
        """
        Raises:
            BadInput: another run took the lock, since this one did not renew it in time.
            StoreUnavailable: the store cannot be asked.
        """
        if self._lost is not None:
            raise self._lost
        self._take()

    def _take(self) -> None:
        self._store.claim(self._index, self._owner, self._seconds)

    def _renew(self) -> None:
        while not self._ended.wait(self._seconds / _RENEWALS_A_CLAIM):
            try:
                self._take()
            except StoreUnavailable:
                continue  # the run finds out by itself
            except BadInput as error:
                self._lost = error
                return
