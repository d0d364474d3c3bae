"""Zip files of exports: the conversations in them and the files beside those. Reads one stream only.

Nothing is ever unpacked to a path. What a member claims of its size is what is read of it at most, and claims
beyond what zip brings honest text to are refused before anything is read.
"""

from __future__ import annotations

import lzma
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import IO, Final, cast

from convostore.schemas.errors import ImportFormatError

__all__ = ["Archive", "Unsafe", "is_zip"]

_SIGN: Final = b"PK\x03\x04"

_EMPTY: Final = b"PK\x05\x06"
_CHUNK = 256 << 10
_IN_MEMORY = 8 << 20
_MOST_MEMBERS = 200_000
_MOST_ASSET = 256 << 20
_RATIO = 250  # deflate reaches 1,032 with nothing but repetitions, exports of text about 20
_HARMLESS = 4 << 20
_CONVERSATIONS = re.compile(r"conversations?(?:[-_. ]*(\d+))?\.jsonl?", re.IGNORECASE)
_BLANK = b"\xef\xbb\xbf \t\r\n"
_BEGINNINGS = (b"{", b"[", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xff\xfe", b"\xfe\xff")
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
_POINTER = re.compile(r"file[-_][A-Za-z0-9]+")


def is_zip(head: bytes) -> bool:
    """Whether an input that begins so is a zip file, be it an empty one."""
    return head.startswith((_SIGN, _EMPTY))


Unsafe = tuple[str, str]
"""The name of a member and why it is not read."""


class Archive:
    """A zip file as a stream of bytes gives it.

    ``refused`` are members that may not be read. ``conversations`` are the names of those whose names say
    that they hold some, in the order of their numbers. Where there is none ``are_guessed`` is True, and they
    are all that begin as JSON does, in the order of the file.
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
        except _BROKEN as error:
            self._file.close()
            raise ImportFormatError(f"the zip file is broken: {error}") from None
        except BaseException:
            self._file.close()
            raise
        self.refused: list[Unsafe] = []
        self._taken: set[str] = set()
        self._missing: dict[str, None] = {}
        self._large: dict[str, None] = {}
        self._members = {info.filename: info for info in self._usable()}
        self._assets = _by_pointer(self._members)
        self.conversations = sorted(filter(_number, self._members), key=lambda name: (_number(name), name))
        self.are_guessed = not self.conversations
        if self.are_guessed:
            self.conversations = [name for name in self._members if self._begins(name, _BEGINNINGS)]
        if not self.conversations and not self.refused:
            inside = [name for name in self._members if self._begins(name, (_SIGN,))]
            self.close()
            raise ImportFormatError(
                "the zip file holds no conversations.json, nor any other JSON"
                + (f", but the zip file {inside[0]!a:.80}: unpack it first" if inside else "")
            )

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
            self._taken.add(name)
            with self._zip.open(self._members[name]) as member:
                while chunk := member.read(_CHUNK):
                    yield chunk
        except _BROKEN as error:
            raise ImportFormatError(f"{name} in the zip file is broken: {error}") from None

    def find(self, uri: str) -> bytes | None:
        """The bytes of the file that the address ends with, which may have more to its name; None for none.

        ``file-service://file-abc`` is ``file-abc-photo.png`` in a ChatGPT export.

        Raises:
            ImportFormatError: the file is broken.

        """
        scheme, _, address = uri.rpartition("://")
        name = self._assets.get(re.split(r"[?#]", address or uri)[0].rpartition("/")[2])
        if name is None:
            if scheme not in ("http", "https", "urn"):
                self._missing[uri] = None
            return None
        self._taken.add(name)
        if self._members[name].file_size > _MOST_ASSET:
            self._large[name] = None
            return None
        return b"".join(self.chunks(name))

    def notes(self) -> Iterator[str]:
        """What was in the zip file and not taken, and what was not in it, once all was read."""
        others = [name for name in self._members if name not in self._taken]
        for names, what in (
            (others, "other files of the zip file were not taken"),
            (self._large, f"files of the zip file of more than {_MOST_ASSET:,} bytes were not taken"),
            (self._missing, "files that messages name are not in the zip file"),
        ):
            some = ", ".join(f"{name!a:.80}" for name in list(names)[:3])
            if some:
                yield f"{len(names):,} {what}, such as {some}"

    def _begins(self, name: str, beginnings: Sequence[bytes]) -> bool:
        """Whether the member begins so; one that is broken is told when it is read."""
        try:
            with self._zip.open(self._members[name]) as member:
                return member.read(64).lstrip(_BLANK).startswith(tuple(beginnings))
        except _BROKEN:
            return name.lower().endswith((".json", ".jsonl"))

    def _usable(self) -> Iterator[zipfile.ZipInfo]:
        """The files that may be read; why the others may not is noted."""
        infos = self._zip.infolist()
        if len(infos) > _MOST_MEMBERS:
            self.close()
            raise ImportFormatError(f"the zip file has {len(infos):,} members; at most {_MOST_MEMBERS:,}")
        left = max(_HARMLESS, _RATIO * self._length())
        names: set[str] = set()
        for info in infos:
            if info.is_dir():
                continue
            why = _unsafe(info)
            if why is None and info.file_size > left:
                why = "with it the zip file would unpack to far more than it can hold"
            if why is None and info.filename in names:
                why = "another file of the same name was taken"
            names.add(info.filename)
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
