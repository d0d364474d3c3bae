"""Zip files of exports: the conversations in them and the files beside those. Reads one stream only.

Nothing is ever unpacked to a path. What a member claims of its size is what is read of it at most, and claims
beyond what zip brings honest text to are refused before anything is read.
"""

from __future__ import annotations

import re
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import IO, Final, cast

from convostore.schemas.errors import ImportFormatError

__all__ = ["ZIP_SIGN", "Archive", "Unsafe"]

ZIP_SIGN: Final = b"PK\x03\x04"

_CHUNK = 256 << 10
_IN_MEMORY = 8 << 20
_MOST_MEMBERS = 200_000
_MOST_ASSET = 256 << 20
_RATIO = 250  # deflate reaches 1,032 with nothing but repetitions, exports of text about 20
_HARMLESS = 4 << 20
_CONVERSATIONS = re.compile(r"conversations?(?:[-_. ]*(\d+))?\.jsonl?", re.IGNORECASE)
_POINTER = re.compile(r"file[-_][A-Za-z0-9]+")

Unsafe = tuple[str, str]
"""The name of a member and why it is not read."""


class Archive:
    """A zip file as a stream of bytes gives it.

    ``refused`` are members that are left alone, ``conversations`` the names of those that hold
    conversations, in the order of their numbers.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        """Hold the bytes, on disk when they are many.

        Raises:
            ImportFormatError: it is no zip file, cut off, or holds no conversations that may be read.

        """
        self._file = cast(IO[bytes], tempfile.SpooledTemporaryFile(_IN_MEMORY))  # noqa: SIM115 - see close
        try:
            for chunk in chunks:
                self._file.write(chunk)
            self._zip = zipfile.ZipFile(self._file)
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            self._file.close()
            raise ImportFormatError(f"the zip file is broken: {error}") from None
        self.refused: list[Unsafe] = []
        self._members = {info.filename: info for info in self._usable()}
        self._assets = _by_pointer(self._members)
        self.conversations = sorted(filter(_number, self._members), key=lambda name: (_number(name), name))
        if not self.conversations and not self.refused:
            self.close()
            raise ImportFormatError("the zip file holds no conversations.json")

    def close(self) -> None:
        """Let go of the bytes."""
        self._zip.close()
        self._file.close()

    def chunks(self, name: str) -> Iterator[bytes]:
        """The bytes of a member.

        Raises:
            ImportFormatError: while reading: it is broken.

        """
        try:
            with self._zip.open(self._members[name]) as member:
                while chunk := member.read(_CHUNK):
                    yield chunk
        except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError) as error:
            raise ImportFormatError(f"{name} in the zip file is broken: {error}") from None

    def find(self, uri: str) -> bytes | None:
        """The bytes of the file that the address ends with, which may have more to its name; None for none.

        ``file-service://file-abc`` is ``file-abc-photo.png`` in a ChatGPT export.

        Raises:
            ImportFormatError: the file is broken.

        """
        tail = re.split(r"[?#]", uri.rpartition("://")[2] or uri)[0].rpartition("/")[2]
        name = self._assets.get(tail)
        if name is None or self._members[name].file_size > _MOST_ASSET:
            return None
        return b"".join(self.chunks(name))

    def _usable(self) -> Iterator[zipfile.ZipInfo]:
        """The files that may be read; why the others may not is noted."""
        infos = self._zip.infolist()
        if len(infos) > _MOST_MEMBERS:
            self.close()
            raise ImportFormatError(f"the zip file has {len(infos):,} members; at most {_MOST_MEMBERS:,}")
        left = max(_HARMLESS, _RATIO * self._length())
        for info in infos:
            if info.is_dir():
                continue
            why = _unsafe(info)
            if why is None and info.file_size > left:
                why = "with it the zip file would unpack to far more than it can hold"
            if why is not None:
                self.refused.append((info.filename, why))
                continue
            left -= info.file_size
            yield info

    def _length(self) -> int:
        return self._file.seek(0, 2)


def _unsafe(info: zipfile.ZipInfo) -> str | None:
    name = info.filename.replace("\\", "/")
    if name.startswith("/") or re.match(r"[A-Za-z]:", name) or ".." in PurePosixPath(name).parts:
        return "its path leads out of the zip file"
    if info.flag_bits & 1:
        return "it is encrypted"
    if info.file_size > max(_HARMLESS, _RATIO * info.compress_size):
        return f"it claims to unpack from {info.compress_size:,} to {info.file_size:,} bytes"
    return None


def _number(name: str) -> int:
    """The number of a file of conversations, 1 without one; 0 of every other file."""
    found = _CONVERSATIONS.fullmatch(PurePosixPath(name).name)
    return 0 if found is None else 1 + int(found[1] or 0)


def _by_pointer(names: Iterable[str]) -> dict[str, str]:
    """The members by their name without folders, without its ending, and by the pointer it begins with."""
    found: dict[str, str] = {}
    for name in names:
        path = PurePosixPath(name)
        pointer = _POINTER.match(path.name)
        for key in (path.name, path.stem, pointer[0] if pointer is not None else path.name):
            found.setdefault(key, name)
    return found
