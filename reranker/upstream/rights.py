"""Says with whose rights an engine is read: the service's own, or a caller's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Rights:
    """With whose rights a call reads an engine.

    Attributes:
        headers: a caller's credentials, with names in lower case, which are sent in place of the service's own; empty
            for the service's own rights.
    """

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


SERVICE = Rights()
