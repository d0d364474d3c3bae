"""Exports with branches, written for tests, and what a store made of them, without its ids."""

from __future__ import annotations

import base64
import json
from typing import Any

from convostore.schemas.json_values import dump_text
from convostore.store import ALL_USERS, ConversationStore
from convostore.store.parameters import UserScope

PNG = b"\x89PNG bytes"


def chatgpt(*, current: str = "d", extra_nodes: dict[str, Any] | None = None) -> dict[str, Any]:
    """A tree: a b c d is active, c2 d2 leaves it after b, d3 leaves that after c2, r begins by itself."""
    nodes = {
        "root": {"id": "root", "message": None, "parent": None, "children": ["a", "r"]},
        **node("a", "root", "user", "hi", 1.0),
        **node("b", "a", "assistant", "hello", 2.0),
        **node("c", "b", "user", "why?", 3.0),
        **node("d", "c", "assistant", "because", 4.0),
        **node("c2", "b", "user", "how?", 5.0),
        **node("d2", "c2", "assistant", "so", 6.0),
        **node("d3", "c2", "assistant", "or so", 7.0),
        **node("r", "root", "user", "once more", 8.0),
        **(extra_nodes or {}),
    }
    return {
        "title": "T",
        "conversation_id": "g1",
        "create_time": 0.5,
        "current_node": current,
        "mapping": nodes,
    }


def node(id: str, parent: str, role: str, text: str, time: float, **content: Any) -> dict[str, Any]:
    held = {"content_type": "text", "parts": [text], **content}
    message = {"id": id, "author": {"role": role}, "create_time": time, "content": held, "metadata": {}}
    return {id: {"id": id, "message": message, "parent": parent, "children": []}}


def sessions() -> bytes:
    """Two Claude Code sessions: s2 goes on from the second message of s1."""
    lines = [
        ("u1", None, "s1", "user", "hi"),
        ("u2", "u1", "s1", "assistant", "hello"),
        ("u3", "u2", "s1", "user", "go on"),
        ("u4", "u2", "s2", "user", "another way"),
        ("u5", "u4", "s2", "assistant", "as you like"),
    ]
    return "".join(
        json.dumps(
            {
                "type": role,
                "uuid": id,
                "parentUuid": parent,
                "sessionId": session,
                "timestamp": f"2026-01-02T03:04:0{place}.000Z",
                "message": {"role": role, "content": text},
            }
        )
        + "\n"
        for place, (id, parent, session, role, text) in enumerate(lines)
    ).encode()


def openwebui_with_image() -> dict[str, Any]:
    """A chat whose first message has an image, which its two branches have in common."""
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    messages = {
        "a": {"id": "a", "parentId": None, "role": "user", "content": "look", "files": [
            {"type": "image", "url": url}]},
        "b": {"id": "b", "parentId": "a", "role": "assistant", "content": "a cat"},
        "b2": {"id": "b2", "parentId": "a", "role": "assistant", "content": "a dog"},
    }  # fmt: skip
    chat = {"title": "T", "history": {"currentId": "b", "messages": messages}}
    return {"id": "w1", "user_id": "u1", "title": "T", "chat": chat, "created_at": 1767323040}


def import_bytes(store: ConversationStore, data: bytes) -> None:
    store.import_conversations(data, user="alice")


def text_of(message: Any) -> str:
    """The text of a message, parts put together."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def texts_by_source(store: ConversationStore) -> dict[str, list[str]]:
    """The texts of every conversation by the id of its source."""
    found = {}
    for head in store.find(user=ALL_USERS, limit=100).items:
        assert head.source is not None
        found[head.source.id] = [text_of(entry.message) for entry in store.entries(head.id)]
    return found


def contents(store: ConversationStore, user: UserScope = ALL_USERS) -> list[str]:
    """Everything that an import decides of each conversation, as JSON, without the ids it got."""
    found = []
    cursor: str | None = None
    while True:
        page = store.find(user=user, limit=100, cursor=cursor)
        for head in page.items:
            record = store.get(head.id)
            entries = [
                [entry.id, entry.made, entry.dialect, entry.message] for entry in store.entries(head.id)
            ]
            resources = [{**one.to_json(), "_id": 0, "metadata": None} for one in record.resources]
            source = None if head.source is None else [head.source.id, head.source.sha256]
            usage = record.usage.model_dump()
            found.append(dump_text([source, record.user, record.extra, usage, resources, entries]))
        cursor = page.cursor
        if cursor is None:
            return sorted(found)
