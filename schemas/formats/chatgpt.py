"""ChatGPT's ``conversations.json``: an array of conversations, each a tree of messages. Pure.

Read as well: one conversation by itself, one a line, and trees whose nodes come in a list. The branch that
``current_node`` ends is the conversation; without a usable one that of the newest leaf. Hidden messages are
messages. An entry without a ``mapping``, as newer archives have some, holds no messages and is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.chatgpt_messages import chatgpt_piece
from convostore.schemas.formats.foreign import (
    Draft,
    Item,
    Sources,
    active_and_branches,
    first_id,
    holds,
    remark_tree,
    told,
    unwrapped,
)
from convostore.schemas.formats.items import Found, ReadOptions, Refused
from convostore.schemas.formats.json_layout import json_values
from convostore.schemas.formats.linking import parents_of
from convostore.schemas.formats.moments import Moments
from convostore.schemas.formats.parts import Piece, odd_piece, rest_of
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.formats.trees import Forest, Node
from convostore.schemas.json_values import JSON, text_digest

__all__ = ["NAME", "fits", "read"]

NAME = "chatgpt"

_SIGNS = frozenset(
    {
        "async_status",
        "conversation_id",
        "conversation_template_id",
        "current_node",
        "default_model_slug",
        "gizmo_id",
        "moderation_results",
        "plugin_ids",
        "safe_urls",
    }
)
_LINKS = ("message", "parent", "children")


def fits(value: JSON) -> bool:
    """Whether the value looks like what this format holds."""
    return holds(value, _is_conversation)


def _is_conversation(value: JSON) -> bool:
    if not isinstance(value, dict):
        return False
    nodes = list(_nodes(value.get("mapping")).values())[:3]
    if any(isinstance(node, dict) and {"message", "parent", "children"} & node.keys() for node in nodes):
        return True
    return len(_SIGNS & value.keys()) > 1


def read(source: ByteInput, options: ReadOptions) -> Iterator[Item]:
    """The conversations in the input, in the memory that the largest needs.

    Raises:
        InvalidRecordError: ``options.user`` is missing or no valid id.

    """
    sources = Sources(NAME, options, names_user=False)
    values = unwrapped(json_values(source), _is_conversation)
    return sources.each(values, lambda found: [_conversation(found, sources)])


def _nodes(mapping: JSON) -> dict[str, JSON]:
    if not isinstance(mapping, list):
        return mapping if isinstance(mapping, dict) else {}
    found: dict[str, JSON] = {}
    for place, node in enumerate(mapping):
        id = first_id(node, "id")
        found[id if id is not None and id not in found else f"[{place}]"] = node
    return found


def _conversation(found: Found, sources: Sources) -> Item:
    value = found.value
    if not isinstance(value, dict):
        return Refused(found.position, f"no conversation but a value of {type(value).__name__}")
    id = first_id(value, "conversation_id", "id")
    mapping = value.get("mapping")
    if mapping is None:
        return Refused(found.position, "it has no mapping, so no messages", id, skipped=True)
    if not isinstance(mapping, (dict, list)):
        return Refused(found.position, f"its mapping is no tree but a {type(mapping).__name__}", id)
    remarks = Remarks()
    moments = Moments(remarks, "seconds")
    digest, size = text_digest(value)
    nodes = _nodes(value.pop("mapping"))
    del mapping
    parents, said = parents_of(nodes, "parent", "children"), _said_by_links(nodes)
    # Each node is let go when its message is made: there may be very many.
    pieces = {id: _piece(nodes.pop(id), moments, remarks) for id in list(nodes)}
    forest = Forest(_links(parents, pieces))
    leaf = value.get("current_node")
    if not isinstance(leaf, str) or leaf not in pieces or not any(pieces[step] for step in forest.path(leaf)):
        if leaf is not None:
            remarks.add("current nodes that lead to no message; the newest leaf is taken", leaf)
        leaf = forest.newest_leaf()
    remark_tree(forest, remarks)
    lines = told(forest.lines([leaf] if leaf is not None else []), lambda id: pieces[id] or odd_piece(None))
    source = sources.identified(id, digest)
    active, branches = active_and_branches(lines, source, sources)
    return Draft(
        user=sources.owner(),
        source=source,
        pieces=active,
        branches=branches,
        size=size,
        title=("title", value.get("title")),
        created=[moments.read(value.get("create_time"))],
        updated=[moments.read(value.get("update_time"))],
        unknown={**rest_of(value, "title"), **said},
        notes=(*found.notes, *remarks.lines()),
    ).imported(found.position)


def _piece(node: JSON, moments: Moments, remarks: Remarks) -> Piece | None:
    """The message of a node; None when it only links others."""
    if not isinstance(node, dict):
        if node is None:
            return None
        remarks.add("nodes that are no objects are kept as they are", node)
        return odd_piece(node)
    message = node.get("message")
    if message is None:
        return None
    if not isinstance(message, dict):
        remarks.add("messages that are no objects are kept as they are", message)
        return odd_piece(message)
    beside = rest_of(node, *_LINKS, "id")
    if node.get("id") != message.get("id"):
        beside["id"] = node.get("id")
    return chatgpt_piece(message, beside, moments)


def _said_by_links(nodes: Mapping[str, JSON]) -> dict[str, JSON]:
    """What nodes without a message say beside their links."""
    left = {
        id: rest
        for id, node in nodes.items()
        if isinstance(node, dict)
        and node.get("message") is None
        and (rest := rest_of(node, *_LINKS, *(("id",) if node.get("id") == id else ())))
    }
    return {"mapping": left} if left else {}


def _links(parents: Mapping[str, str | None], pieces: Mapping[str, Piece | None]) -> dict[str, Node]:
    return {
        id: Node(parents.get(id), piece.made if piece is not None else None, piece is not None)
        for id, piece in pieces.items()
    }
