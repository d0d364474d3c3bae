"""What a folder to import from holds, told by its files."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from convostore.store.andadb_folders import holds_andadb
from convostore.store.document_files import holds_documents

__all__ = ["FolderKind", "kind_of_folder"]

FolderKind: TypeAlias = Literal["andadb", "documents"]


def kind_of_folder(folder: Path) -> FolderKind | None:
    """``andadb`` for a data directory of AndaDB, ``documents`` for a dump or exports of MongoDB, else None.

    Raises:
        OSError: a file cannot be read.

    """
    if holds_andadb(folder):
        return "andadb"
    return "documents" if holds_documents(folder) else None
