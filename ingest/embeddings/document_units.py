"""Turns documents into units to train on: those of one group are translations of each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingest.embeddings.units import Unit
from ingest.files import json_type
from ingest.language import UNKNOWN_LANGUAGE
from ingest.progress import Progress, no_progress
from reranker.base.errors import BadDocument, BadInput
from reranker.text.documents import Document

GROUP_FIELD = "group"
"""The field that translations share where the caller names none."""

# In an aligned text of parts: the document that the part is from.
_DOCUMENT_FIELD = "document"
_ID_FIELD = "id"

_DOCUMENTS_A_REPORT = 1_000
_EXAMPLES = 3


class Unusable:
    """Counts what cannot be trained on, and keeps the first few reasons.

    Attributes:
        n: how many.
    """

    def __init__(self) -> None:
        self.n = 0
        self._examples: list[str] = []

    def add(self, place: str, reason: str) -> None:
        """Counts one.

        Args:
            place: what it is and where, such as `pages.jsonl, line 7`.
        """
        self.n += 1
        if len(self._examples) < _EXAMPLES:
            self._examples.append(f"{place}: {reason}")

    def __str__(self) -> str:
        """How many, and why."""
        rest = f" (and {self.n - len(self._examples):,} more)" if self.n > len(self._examples) else ""
        return f"{self.n:,} of the documents cannot be trained on: {'; '.join(self._examples)}{rest}"


def units_of(
    documents: Iterable[Document], group_field: str | None, unusable: Unusable, progress: Progress = no_progress
) -> Iterator[Unit]:
    """The units of documents, as a stream; a document without a group is a group of its own.

    Args:
        group_field: the field of `metadata` with the group's id, or `id`; None takes `group` where it is there.
        unusable: takes the documents that have no language, or a group that is no id.

    Raises:
        BadInput: a field was named and no document has it.
    """
    n_documents = n_grouped = 0
    for n_documents, document in enumerate(documents, start=1):
        if n_documents % _DOCUMENTS_A_REPORT == 0:
            progress(n_documents, None, "counting words")
        try:
            group = _group(document, group_field or GROUP_FIELD)
            n_grouped += group is not None
            yield _unit(document, group)
        except BadDocument as error:
            unusable.add(f"document {document.doc_id!r}", str(error))
    progress(n_documents, n_documents, "counted words")
    if group_field is not None and n_documents and not n_grouped:
        raise BadInput(
            f"none of the {n_documents:,} documents has a field {group_field!r}; name the field that translations "
            "share with --group-field, or leave the option out to train on one language"
        )


def _group(document: Document, field: str) -> str | None:
    if field == _ID_FIELD:
        return document.doc_id
    # A nested field of an index, `page.group`, comes as `page_group`.
    value = document.metadata.get(field, document.metadata.get(field.replace(".", "_")))
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise BadDocument(
            f"field {field!r} is {json_type(value)}; give a string or a whole number, or name another field with "
            "--group-field"
        )
    return str(value)


def _unit(document: Document, group: str | None) -> Unit:
    language, text = document.language, document.full_text
    if language == UNKNOWN_LANGUAGE:
        raise BadDocument("its language is not known; name it in the document, or give it with --lang")
    if group is None:
        # The same id in two languages is no sign of a translation.
        own = f"{language}\0{document.doc_id}"
        return Unit(own, language, text, own)
    part_of = document.metadata.get(_DOCUMENT_FIELD)
    is_id = isinstance(part_of, str | int) and part_of != ""
    return Unit(group, language, text, str(part_of) if is_id else group)
