"""Reads compressed streams with a limit on what they unpack to. Every damage is an OSError."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from io import BufferedReader, RawIOBase
from typing import Any, BinaryIO, Protocol

from reranker.base.extras import extra

# Errors of streams that cannot be unpacked.
DAMAGE = (
    EOFError,
    OSError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    struct.error,
    NotImplementedError,
    ValueError,
)
# The limit of Apache Tika and POI against decompression bombs. Text is compressed 3 to 10 times, logs 30 times.
MAX_RATIO = 100
# A small file may have a higher ratio.
ALWAYS_ALLOWED_BYTES = 16 * 2**20
_BUFFER_BYTES = 2**17
# One byte of Zstandard can unpack to some 30 kB, and each piece is unpacked at once.
_ZSTANDARD_PIECE_BYTES = 2**10


class Unpacker(Protocol):
    def read1(self, n_bytes: int, /) -> bytes: ...


def unpacked(raw: BinaryIO, unpacker: Unpacker) -> BufferedReader:
    """The contents of a compressed stream. Lines before a damaged place can be read.

    Reading raises OSError if the stream is damaged or truncated, or unpacks to more than `MAX_RATIO` times its size.

    Args:
        raw: the file that `unpacker` reads from.
    """
    return BufferedReader(_Unpacked(raw, unpacker), _BUFFER_BYTES)


class _Unpacked(RawIOBase):
    def __init__(self, raw: BinaryIO, unpacker: Unpacker) -> None:
        self._raw = raw
        self._unpacker = unpacker
        self._n_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            part = self._unpacker.read1(len(buffer))
        except OSError:
            raise
        except DAMAGE as error:
            raise OSError(str(error)) from error
        self._n_bytes += len(part)
        if self._n_bytes > max(ALWAYS_ALLOWED_BYTES, MAX_RATIO * self._raw.tell()):
            raise OSError(f"it unpacks to more than {MAX_RATIO} times its size; if that is right, unpack it by hand")
        buffer[: len(part)] = part
        return len(part)


class Zstandard:
    """The contents of a Zstandard file of any number of frames.

    Raises:
        MissingPackage: the extra `zstd` is not installed.
    """

    def __init__(self, raw: BinaryIO) -> None:
        with extra("zstd", "reading Zstandard"):
            import zstandard

        self._decompressor = zstandard.ZstdDecompressor()
        self._error = zstandard.ZstdError
        self._raw = raw
        self._frame: Any = None
        self._packed = b""
        self._content = memoryview(b"")

    def read1(self, n_bytes: int) -> bytes:
        """The next bytes; empty at the end of the file.

        Raises:
            EOFError: the file ends inside a frame.
            OSError: the file is damaged.
        """
        while not self._content:
            packed = self._packed or self._raw.read(_ZSTANDARD_PIECE_BYTES)
            if not packed:
                if self._frame is not None:
                    raise EOFError("the file ends inside a Zstandard frame")
                return b""
            self._unpack(packed)
        part, self._content = self._content[:n_bytes], self._content[n_bytes:]
        return bytes(part)

    def _unpack(self, packed: bytes) -> None:
        if self._frame is None:
            self._frame = self._decompressor.decompressobj()
        try:
            self._content = memoryview(self._frame.decompress(packed))
        except self._error as error:
            raise OSError(str(error)) from error
        self._packed = b""
        if self._frame.eof:
            self._packed = self._frame.unused_data
            self._frame = None
