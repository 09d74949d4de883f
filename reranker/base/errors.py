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
    │   ├── NoSuchIndex           an index that is not there, or no longer
    │   ├── FetchFailed           a file that is not here and could not be fetched (HTTP 503)
    │   ├── MissingPackage        a Python package of an extra that is not installed (HTTP 501)
    │   └── NoEmbeddings          no embedding store has been made yet (HTTP 503)
    ├── VersionMismatch           an index made with other versions (HTTP 409)
    ├── NotOurIndex               an index that Sinkrank did not make (HTTP 409)
    ├── NotAllowed                what the caller has no right to (HTTP 403)
    │   └── Unauthenticated       credentials that are missing or wrong (HTTP 401)
    ├── ClientLeft                nobody waits for the answer any more (HTTP 499, which only the log shows)
    └── StoreUnavailable          a node that is down or answers with an error (HTTP 503)
        ├── NotAnEngine           what answers is no search engine (HTTP 502)
        ├── StoreDamaged          a store's file that is not what was written
        └── Busy                  more requests than the service takes at once (HTTP 429)

Errors of lower levels (opensearch-py, sqlite3, urllib3) are mapped to these where they arise.
"""

from __future__ import annotations

import errno


class SinkrankError(Exception):
    """A failure whose message says what came, what was expected, and the cure.

    Attributes:
        http_status, code: of the class, or of this error alone where nothing tells it from others of its class.
    """

    http_status = 500
    code = "error"

    def __init__(self, message: str, *, http_status: int | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.http_status = http_status or self.http_status
        self.code = code or self.code


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


class NoSuchIndex(NotFound):
    pass


class FetchFailed(NotFound):
    http_status = 503
    code = "fetch_failed"


class MissingPackage(NotFound):
    http_status = 501
    code = "missing_package"


class NoEmbeddings(NotFound):
    http_status = 503
    code = "no_embeddings"


class VersionMismatch(SinkrankError):
    http_status = 409
    code = "version_mismatch"


class NotOurIndex(SinkrankError):
    http_status = 409
    code = "not_our_index"


class NotAllowed(SinkrankError):
    http_status = 403
    code = "not_allowed"


class Unauthenticated(NotAllowed):
    """
    Attributes:
        challenge: the header `WWW-Authenticate`: what browsers ask their user for.
    """

    http_status = 401
    code = "unauthenticated"
    challenge = 'Basic realm="search engine", charset="UTF-8"'


class ClientLeft(SinkrankError):
    http_status = 499  # nginx's
    code = "client_left"


class StoreUnavailable(SinkrankError):
    http_status = 503
    code = "store_unavailable"


class NotAnEngine(StoreUnavailable):
    http_status = 502
    code = "not_an_engine"


class StoreDamaged(StoreUnavailable):
    pass


class Busy(StoreUnavailable):
    http_status = 429
    code = "rejected_execution_exception"  # the engines' own name for it


# What helps against errors of the system.
_CURES = {
    errno.ENOENT: "check the path, and that the folder is there",
    errno.EACCES: "check its permissions, or name another",
    errno.EPERM: "check its permissions, or name another",
    errno.EROFS: "name another, on a disk that can be written to",
    errno.EEXIST: "name another, or move what is there away",
    errno.EISDIR: "name a file",
    errno.ENOTDIR: "a part of the path is a file; name another",
    errno.ENOSPC: "free some space, and give the command again",
    errno.EDQUOT: "free some space, and give the command again",
    errno.EMFILE: "allow more open files (`ulimit -n`), and give the command again",
}


def one_line(error: BaseException) -> str:
    """The error's message in one line; of one of the system the file, the reason and the cure.

    >>> one_line(FileNotFoundError(2, "No such file or directory", "ids.txt"))
    'ids.txt: No such file or directory; check the path, and that the folder is there'
    """
    if isinstance(error, OSError) and error.errno is not None and error.strerror:
        # Of two, as of a rename, the second is the one that somebody has named.
        filename = error.filename if error.filename2 is None else error.filename2
        place = f"{filename}: " if filename is not None else ""
        cure = _CURES.get(error.errno)
        return f"{place}{error.strerror}" + (f"; {cure}" if cure else "")
    return " ".join(str(error).split())
