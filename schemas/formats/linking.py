"""Messages in a list or by id, with or without links to their parents, as the nodes of a tree. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from convostore.schemas.formats.foreign import first_id
from convostore.schemas.formats.parts import Piece, odd_piece
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.formats.trees import Node
from convostore.schemas.json_values import JSON, same_json

__all__ = ["ROOT", "linked_nodes", "parents_of"]

# The parents that stand for none: all zeros, but for the marks of version and variant.
_NOBODY = re.compile(r"[0]{8}-0{4}-[04]0{3}-[08]0{3}-0{12}")

ROOT = "00000000-0000-0000-0000-000000000000"
"""The parent of a message that says it has none."""

ParentOf: TypeAlias = Callable[[Mapping[str, JSON]], JSON]


def linked_nodes(
    items: Sequence[JSON],
    id_name: str,
    parent: str | ParentOf,
    remarks: Remarks,
    convert: Callable[[Mapping[str, JSON]], Piece],
) -> tuple[dict[str, Node], dict[str, Piece]]:
    """The nodes by id in the order of the list, and their messages converted.

    ``parent`` names the member that names the parent, or reads it, giving ``ROOT`` for none. A message that
    lacks it comes after the one before it in the list, so that a list from before there were trees is a
    chain; null says so too, but in a list where others are linked it makes a root, as an id of zeros does
    always. Of a message that occurs twice the second is left out when it is the same, else it gets the id
    with ``#2``. What is no object is kept as it is, nulls are left out.
    """
    read_parent = parent if callable(parent) else _member(parent, items)
    nodes: dict[str, Node] = {}
    pieces: dict[str, Piece] = {}
    given: dict[str, JSON] = {}
    previous: str | None = None
    for place, item in enumerate(items):
        if item is None:
            remarks.add("places without a message are left out")
            continue
        is_object = isinstance(item, dict)
        id = (first_id(item, id_name) if is_object else None) or f"[{place}]"
        if id in given:
            if same_json(given[id], item):
                remarks.add("messages that occur twice are taken once", id)
                continue
            remarks.add("different messages of one id are kept, each for itself", id)
            id = _free(id, given)
        given[id] = item
        if is_object:
            named = read_parent(item)
            pieces[id] = convert(item)
        else:
            remarks.add("messages that are no objects are kept as they are", item)
            named = None
            pieces[id] = odd_piece(item)
        if not isinstance(named, str) or not named:
            above = previous
        else:
            above = None if _NOBODY.fullmatch(named) else named
        nodes[id] = Node(above, pieces[id].made)
        previous = id
    return nodes, pieces


def parents_of(items: Mapping[str, JSON], parent: str, children: str) -> dict[str, str | None]:
    """The parent of each of the items by id, where it has one.

    Only where none of them names its parent are the lists of children believed.
    """
    if any(isinstance(item, dict) and parent in item for item in items.values()):
        found = {id: item.get(parent) for id, item in items.items() if isinstance(item, dict)}
        return {id: named if isinstance(named, str) and named else None for id, named in found.items()}
    parents: dict[str, str | None] = {}
    for id, item in items.items():
        listed = item.get(children) if isinstance(item, dict) else None
        for child in listed if isinstance(listed, list) else ():
            if isinstance(child, str):
                parents.setdefault(child, id)
    return parents


def _member(name: str, items: Sequence[JSON]) -> ParentOf:
    linked = any(isinstance(item, dict) and isinstance(item.get(name), str) for item in items)
    return lambda item: ROOT if linked and item.get(name, "") is None else item.get(name)


def _free(id: str, taken: Mapping[str, JSON]) -> str:
    number = 2
    while f"{id}#{number}" in taken:
        number += 1
    return f"{id}#{number}"
