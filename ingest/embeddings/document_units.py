"""Turns documents into units for training. The units of one group are translations of each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingest.embeddings.units import Unit
from ingest.files import Row, json_type
from reranker.base.errors import BadDocument, BadInput
from reranker.text.documents import Document
from reranker.text.language_detection import UNKNOWN_LANGUAGE

GROUP_FIELD = "group"
"""Default name of the field whose value translations share."""

# For a part of a document: the id of that document.
_DOCUMENT_FIELD = "document"
_ID_FIELD = "id"

_EXAMPLES = 3


class Unusable:
    """Counts documents that cannot be used, and keeps the first few reasons.

    Attributes:
        n: their number.
    """

    def __init__(self) -> None:
        self.n = 0
        self._examples: list[str] = []

    def add(self, place: str, reason: str) -> None:
        """Counts one document.

        Args:
            place: what and where it is, such as `pages.jsonl, line 7`.
        """
        self.n += 1
        if len(self._examples) < _EXAMPLES:
            self._examples.append(f"{place}: {reason}")

    def add_row(self, row: Row, reason: str | None) -> None:
        """Counts a row. Of an index the URL is left out, which may contain a password."""
        name = row.file.rpartition("/")[2] if "://" in row.file else row.file
        self.add(f"{name}, line {row.line}", str(reason))

    def __str__(self) -> str:
        rest = f" (and {self.n - len(self._examples):,} more)" if self.n > len(self._examples) else ""
        return f"{self.n:,} of the documents cannot be trained on: {'; '.join(self._examples)}{rest}"


def units_of(documents: Iterable[Document], group_field: str | None, unusable: Unusable) -> Iterator[Unit]:
    """The units of documents, as a stream. A document without a group is its own group.

    Args:
        group_field: field of `metadata` with the group's id, or `id`; None: `group`, if a document has it.
        unusable: counts documents without a language, or with a group of the wrong type.

    Raises:
        BadInput: no document has the given `group_field`.
    """
    n_documents = n_grouped = 0
    for document in documents:
        n_documents += 1
        try:
            group = group_of(document, group_field or GROUP_FIELD)
            n_grouped += group is not None
            yield _unit(document, group)
        except BadDocument as error:
            unusable.add(f"document {document.doc_id!r}", str(error))
    if group_field is not None and n_documents and not n_grouped:
        raise BadInput(
            f"none of the {n_documents:,} documents has a field {group_field!r}; name the field that translations "
            "share with --group-field, or leave the option out to train on one language"
        )


def group_of(document: Document, field: str) -> str | None:
    """The group of a document in a field of `metadata`, or its id if the field is `id`; None if it has none.

    Raises:
        BadDocument: the value is neither a string nor a whole number.
    """
    if field == _ID_FIELD:
        return document.doc_id
    # `--from-index` copies the nested field `page.group` as `page_group`.
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
        raise BadDocument("its language is unknown; name it in the document, or give it with --lang")
    if group is None:
        # The same id in two languages does not mean that the texts are translations.
        own = f"{language}\0{document.doc_id}"
        return Unit(own, language, text, own)
    part_of = document.metadata.get(_DOCUMENT_FIELD)
    is_id = isinstance(part_of, str | int) and part_of != ""
    return Unit(group, language, text, str(part_of) if is_id else group)
