"""The texts to train on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """A text. The units of one group are translations of each other.

    Attributes:
        document: the document that it is a part of, in any language.
    """

    group: str
    language: str
    text: str
    document: str
