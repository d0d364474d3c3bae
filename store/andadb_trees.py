"""The files of an AndaDB, plain or below the prefixes of its MetaStore (``spec/anda.md`` 10.3).

Only read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import zstandard

from convostore.schemas.anda_cbor import load_cbor
from convostore.schemas.errors import InvalidRecordError

__all__ = ["Tree", "joined", "tree_of"]

_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_LARGEST: Final = 64 << 20  # AndaDB's own limit of a document is 10 MiB at most
_GENERATION: Final = re.compile(r"[0-9a-f]{16}-[0-9a-f]{8}")
_DEPTH: Final = 6


class Tree:
    """Objects by path in plain files."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def objects(self, path: str) -> Iterator[str]:
        """The names of the objects right below ``path``, in any order."""
        yield from _names(self.root / path, files=True)

    def folders(self, path: str) -> list[str]:
        """The names of what has objects below it, sorted."""
        return sorted(_names(self.root / path, files=False))

    def read(self, path: str) -> bytes:
        """The bytes of an object, decompressed.

        Raises:
            InvalidRecordError: they are broken, or far more than AndaDB writes.
            FileNotFoundError: there is no such object.

        """
        return _plain(self._file(path).read_bytes(), path)

    def _file(self, path: str) -> Path:
        return self.root / path


class _MetaTree(Tree):
    """Objects whose payload is the generation that the object's metadata name, or the older plain payload."""

    def objects(self, path: str) -> Iterator[str]:
        seen: set[str] = set()
        kinds = (("meta", True), ("data", True), ("gen", False))
        for prefix, files in kinds:
            for name in _names(self.root / prefix / path, files=files):
                if name not in seen and (files or self._generations(joined(path, name))):
                    seen.add(name)
                    yield name

    def folders(self, path: str) -> list[str]:
        found = {
            name
            for prefix in ("meta", "data", "gen")
            for name in _names(self.root / prefix / path, files=False)
        }
        return sorted(name for name in found if not self._generations(joined(path, name)))

    def _generations(self, path: str) -> list[str]:
        return sorted(filter(_GENERATION.fullmatch, _names(self.root / "gen" / path, files=True)))

    def _file(self, path: str) -> Path:
        generation = self._generation(path)
        return self.root / "data" / path if generation is None else self.root / "gen" / path / generation

    def _generation(self, path: str) -> str | None:
        try:
            about = load_cbor((self.root / "meta" / path).read_bytes(), path)
        except FileNotFoundError:
            # Without metadata, the newest one: its name begins with its time.
            return next(reversed(self._generations(path)), None)
        named: Any = about.get("g") if isinstance(about, dict) else None
        if named is None:
            return None
        if not isinstance(named, str) or not _GENERATION.fullmatch(named):
            raise InvalidRecordError(path, "its metadata name no generation that can be one")
        return named


def joined(path: str, name: str) -> str:
    """The path of what is called ``name`` below ``path``, which may be empty."""
    return f"{path}/{name}" if path else name


def tree_of(folder: Path) -> Tree:
    """The objects of a folder, which may lie in a MetaStore, or hold one."""
    for place, folders, _ in os.walk(folder):
        depth = len(Path(place).relative_to(folder).parts)
        if depth >= _DEPTH:
            folders.clear()
        if "meta" in folders and {"data", "gen"} & set(folders):
            return _MetaTree(Path(place))
    return Tree(folder)


def _names(folder: Path, *, files: bool) -> Iterator[str]:
    try:
        entries = os.scandir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    with entries:
        for entry in entries:
            # What a link leads to is not part of the folder.
            if (entry.is_file if files else entry.is_dir)(follow_symlinks=False):
                yield entry.name


def _plain(data: bytes, path: str) -> bytes:
    if not data.startswith(_ZSTD):
        return data
    try:
        with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as stream:
            found = stream.read(_LARGEST + 1)
    except zstandard.ZstdError as error:
        raise InvalidRecordError(path, f"is compressed and broken: {error}") from None
    if len(found) > _LARGEST:
        raise InvalidRecordError(path, "unpacks to more than 64 MiB")
    return found
