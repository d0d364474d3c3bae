"""Folders of exports for ``import``: which of their files are read one by one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["files_to_import"]


def files_to_import(name: str, format: str) -> tuple[list[str], list[str]]:
    """The files below the folder ``name`` that hold conversations, and those that do not; both sorted.

    None of either when it is no folder, or one that is read as a whole: a saved session or several, a dump, a
    data directory. With ``format`` ``auto`` a file holds conversations when its beginning tells so or it is a
    zip file, else each is taken for one. Hidden files are passed over. None of either, too, when something in
    it cannot be read: importing the folder says what.
    """
    try:
        return _sorted_out(Path(name), format)
    except OSError:
        return [], []


def _sorted_out(folder: Path, format: str) -> tuple[list[str], list[str]]:
    from convostore.cli.session_folders import FORMAT, holds_logs
    from convostore.store.folders import kind_of_folder

    if not folder.is_dir() or format == FORMAT or holds_logs(folder) or kind_of_folder(folder) is not None:
        return [], []
    taken: list[str] = []
    left: list[str] = []
    for path in _files(folder):
        (taken if format != "auto" or _holds_conversations(path) else left).append(str(path))
    return taken, left


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(place) / name


def _holds_conversations(path: Path) -> bool:
    from convostore.schemas.errors import ImportFormatError
    from convostore.schemas.formats import detect
    from convostore.store.archives import is_zip
    from convostore.store.input_files import read_plain

    try:
        with read_plain(str(path)) as stream:
            if not is_zip(stream.peek(4)):
                detect(stream)
    except ImportFormatError as error:
        # What may be several formats holds conversations; importing it says which.
        return "may be" in str(error)
    return True
