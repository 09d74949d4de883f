"""Translates the words of a query by the nearest words of the documents' language."""

from reranker.translation.groups import Translation, WordGroup
from reranker.translation.translator import Translator

__all__ = ["Translation", "Translator", "WordGroup"]
