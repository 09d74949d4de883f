"""The errors of Sinkrank: every failure that a caller may meet is one of these.

    SinkrankError                 something failed; the message names the cure
    ├── BadInput                  what the caller gave is wrong (HTTP 400, exit code 1)
    │   ├── EmptyQuery            no text, or no word in it
    │   ├── UnknownWords          words, but none of them has an embedding (HTTP 422)
    │   ├── WrongParameter        a parameter, setting or name that is unknown or out of its range (exit code 2)
    │   │   └── UnknownLanguage   not a language code that we know
    │   ├── BadDocument           a document that cannot be indexed, with its reason
    │   └── BadEmbeddings         an embeddings file or store that cannot be read
    ├── NotFound                  a store, index, document or file that is not there (HTTP 404)
    ├── VersionMismatch           an index made with other versions (HTTP 409)
    ├── NotOurIndex               an index that Sinkrank did not make (HTTP 409)
    └── StoreUnavailable          a node that is down or answers with an error (HTTP 503)

Errors of lower levels (opensearch-py, sqlite3, urllib3) are mapped to these where they arise.
"""

from __future__ import annotations

from typing import ClassVar


class SinkrankError(Exception):
    """A failure whose message says what came, what was expected, and the cure."""

    http_status: ClassVar[int] = 500
    code: ClassVar[str] = "error"


class BadInput(SinkrankError):
    http_status = 400
    code = "bad_input"


class EmptyQuery(BadInput):
    code = "empty_query"


class UnknownWords(BadInput):
    http_status = 422
    code = "unknown_words"


class WrongParameter(BadInput):
    pass


class UnknownLanguage(WrongParameter):
    code = "unknown_language"


class BadDocument(BadInput):
    code = "bad_document"


class BadEmbeddings(BadInput):
    code = "bad_embeddings"


class NotFound(SinkrankError):
    http_status = 404
    code = "not_found"


class VersionMismatch(SinkrankError):
    http_status = 409
    code = "version_mismatch"


class NotOurIndex(SinkrankError):
    http_status = 409
    code = "not_our_index"


class StoreUnavailable(SinkrankError):
    http_status = 503
    code = "store_unavailable"
