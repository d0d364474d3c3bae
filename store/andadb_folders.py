"""Conversations in the data directory of an AndaDB (``spec/anda.md`` 10.3), with the resources they name.

Every collection with conversations is read, all documents that there are, also those that its set of ids does
not name: after an unclean stop they may be live. A conversation is known again by its ``_id`` and
``created_at`` after the names of database and collection, as in ``agent/bot/41@1700000000000``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from convostore.schemas.anda_cbor import field_names, load_cbor, named
from convostore.schemas.errors import ConvostoreError, ImportFormatError, InvalidRecordError
from convostore.schemas.formats import Imported, Item, ReadOptions, Refused, anda
from convostore.schemas.formats.items import Found
from convostore.schemas.resources import Resource
from convostore.schemas.roaring import roaring_numbers
from convostore.store.andadb_trees import Tree, joined, tree_of

__all__ = ["andadb_collections", "holds_andadb"]

_META: Final = "meta.cbor"
_DATABASE: Final = "db_meta.cbor"
_DOCUMENT: Final = re.compile(r"([0-9]{1,20})\.cbor")
_CONVERSATION: Final = frozenset({"_id", "user", "messages", "status"})
_RESOURCE: Final = frozenset({"_id", "name", "tags", "blob"})
_DEPTH: Final = 4
_MOST_IDS: Final = 20_000_000


@dataclass(frozen=True, slots=True)
class _Collection:
    """A collection: its path, the names of database and collection, the names of its fields by index."""

    path: str
    database: str | None
    name: str
    fields: Mapping[int, str]

    @property
    def title(self) -> str:
        return self.name if self.database is None else f"{self.database}/{self.name}"

    def document(self, id: int) -> str:
        return joined(self.path, f"data/{id}.cbor")


def holds_andadb(folder: Path) -> bool:
    """Whether the folder is, holds, or lies in the data directory of an AndaDB."""
    return next(_places(tree_of(folder)), None) is not None


def andadb_collections(
    folder: Path, options: ReadOptions, note: Callable[[str], object]
) -> Iterator[Iterator[Item]]:
    """The conversations of each collection, by ascending id; what cannot be read at all comes first.

    The ids that ``child`` and ``ancestors`` name are those of the same collection. ``options.collection``
    leaves out the collections of other names.

    Raises:
        ImportFormatError: no collection holds conversations.

    """
    tree = tree_of(folder)
    collections: list[_Collection] = []
    refused: list[Item] = []
    for path in _places(tree):
        try:
            collections.append(_collection(tree, path))
        except (ConvostoreError, OSError) as error:
            place = joined(path, _META)
            reason = f"{_reason(error)}; encrypted stores cannot be read without their key"
            refused.append(Refused(place, reason))
    wanted = [one for one in collections if one.fields and set(one.fields.values()) >= _CONVERSATION]
    if options.collection is not None:
        wanted = [one for one in wanted if options.collection in (one.name, one.title)]
    if not wanted:
        names = ", ".join(one.title for one in collections) or "none that can be read"
        raise ImportFormatError(f"no collection of the folder holds conversations; there is {names}")
    for one in collections:
        is_files = set(one.fields.values()) >= _RESOURCE
        if one not in wanted and not is_files:
            note(f"{one.title}: no conversations; left out")
    yield iter(refused)
    for one in wanted:
        files = [
            other
            for other in collections
            if other.database == one.database and set(other.fields.values()) >= _RESOURCE
        ]
        yield _conversations(tree, one, _Files(tree, files), options, note)


def _places(tree: Tree, path: str = "", depth: int = 0) -> Iterator[str]:
    """The paths of the collections: those with a ``meta.cbor`` and a ``data`` beside it."""
    if _META in set(tree.objects(path)) and "data" in tree.folders(path):
        yield path
    elif depth < _DEPTH:
        for name in tree.folders(path):
            if name != "data" or depth == 0:
                yield from _places(tree, joined(path, name), depth + 1)


def _collection(tree: Tree, path: str) -> _Collection:
    fields = field_names(load_cbor(tree.read(joined(path, _META)), joined(path, _META)), joined(path, _META))
    parts = [part for part in path.split("/") if part]
    outside = tree.root.resolve()
    name = parts[-1] if parts else outside.name
    above = "/".join(parts[:-1])
    if parts and _DATABASE in set(tree.objects(above)):
        return _Collection(path, parts[-2] if len(parts) > 1 else outside.name, name, fields)
    if not parts and (outside.parent / _DATABASE).is_file():
        return _Collection(path, outside.parent.name, name, fields)
    return _Collection(path, None, name, fields)


class _Files:
    """The documents of the collections of resources of one database, by id."""

    def __init__(self, tree: Tree, collections: list[_Collection]) -> None:
        self._tree = tree
        named = [one for one in collections if one.name == "resources"]
        self._from = next(iter(named or collections), None)

    def with_bytes(self, resource: Resource) -> Resource | None:
        """The resource as a new one with the bytes that are stored for its id; None where there are none."""
        if resource.id == 0 or resource.blob is not None or self._from is None:
            return None
        path = self._from.document(resource.id)
        try:
            held = named(load_cbor(self._tree.read(path), path), self._from.fields, path)
        except (ConvostoreError, OSError):
            return None
        blob = held.get("blob")
        if not isinstance(blob, bytes):
            return None
        return resource.model_copy(update={"id": 0, "blob": blob})


def _conversations(
    tree: Tree, one: _Collection, files: _Files, options: ReadOptions, note: Callable[[str], object]
) -> Iterator[Item]:
    inside = replace(options, collection=one.title, field_names=one.fields, file=one.title)
    ids = sorted(
        int(found[1])
        for found in map(_DOCUMENT.fullmatch, tree.objects(joined(one.path, "data")))
        if found is not None
    )
    for item in anda.read_values(_documents(tree, one, ids), inside):
        yield _with_files(item, files) if isinstance(item, Imported) else item
    yield from _missing(tree, one, ids, note)


def _documents(tree: Tree, one: _Collection, ids: list[int]) -> Iterator[Found | Refused]:
    for id in ids:
        path = one.document(id)
        try:
            yield Found(path, load_cbor(tree.read(path), path))
        except (ConvostoreError, OSError) as error:
            yield Refused(path, _reason(error), str(id))


def _with_files(item: Imported, files: _Files) -> Imported:
    record = item.conversation
    changed: dict[str, Any] = {}
    missing = 0
    for name in ("resources", "artifacts"):
        held: list[Resource] = getattr(record, name)
        found = list(map(files.with_bytes, held))
        missing += sum(
            new is None and one.id != 0 and one.blob is None and one.uri is None
            for new, one in zip(found, held, strict=True)
        )
        if any(new is not None for new in found):
            changed[name] = [new or one for new, one in zip(found, held, strict=True)]
    if missing:
        item = replace(
            item,
            notes=(*item.notes, f"resources whose bytes are not in the folder keep their ids: {missing}"),
        )
    return replace(item, conversation=record.model_copy(update=changed)) if changed else item


def _missing(
    tree: Tree, one: _Collection, ids: list[int], note: Callable[[str], object]
) -> Iterator[Refused]:
    """What the collection's set of ids says otherwise than its documents."""
    path = joined(one.path, "ids.cbor")
    try:
        held = load_cbor(tree.read(path), path)
        data = bytes(held) if isinstance(held, list) else held
        if not isinstance(data, bytes):
            raise InvalidRecordError(path, "is no set of ids")
        named_ids = set(islice(roaring_numbers(data), _MOST_IDS + 1))
        if len(named_ids) > _MOST_IDS:
            raise InvalidRecordError(path, f"names more than {_MOST_IDS:,} ids")
    except FileNotFoundError:
        return
    except (ConvostoreError, OSError, ValueError) as error:
        note(f"{path}: {_reason(error)}; the documents were read without it")
        return
    there = set(ids)
    for id in sorted(named_ids - there):
        yield Refused(one.document(id), "the collection's set of ids names it, and it is not there", str(id))
    extra = len(there - named_ids)
    if extra:
        note(f"{one.title}: {extra:,} documents that the set of ids does not name were taken, too")


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
