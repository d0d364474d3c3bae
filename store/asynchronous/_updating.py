"""Bringing a stored conversation up to date with its source, and its links with what they lead to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bson.int64 import Int64

from convostore.schemas.conversations import Conversation
from convostore.schemas.formats import Imported
from convostore.schemas.json_values import JSON
from convostore.store import requests
from convostore.store.asynchronous import _appending, _saving
from convostore.store.asynchronous._backend import AsyncBackend
from convostore.store.asynchronous._reading import read_record
from convostore.store.branching import whole_branches
from convostore.store.codec import encode_u64
from convostore.store.exchanging import encode_facts, plan_update
from convostore.store.heads import Head, encode_unknown
from convostore.store.links import Link, Links
from convostore.store.runs import NewEntry

__all__ = ["bring_up_to_date", "link"]

_CALL = "import"


async def bring_up_to_date(
    backend: AsyncBackend,
    found: Head,
    item: Imported,
    *,
    untouched: bool,
    with_branches: bool = False,
    dry_run: bool,
) -> str | None:
    """Let a stored conversation follow its source: None when it did, empty if nothing was to do, or why not.

    ``found`` has its ``_id`` and ``user``; ``untouched`` says that it was not changed here since the last
    import, ``with_branches`` that those of the source are stored as well.
    """
    owner = {"_id": found["_id"], "user": found["user"]}
    stored = await read_record(backend, owner, comment=_CALL)
    lines = map(_messages_of, whole_branches(item) if with_branches else ())
    plan = plan_update(stored, item, untouched=untouched, others=lambda: lines)
    if plan.kept is not None or dry_run:
        return plan.kept if plan.kept is not None else None if plan else ""
    start = plan.messages_from
    if start is not None and start == len(stored.messages):
        await _append(backend, stored, owner, item, start)
    elif start is not None:
        stored.messages[start:] = item.conversation.messages[start:]
    for name, value in plan.members.items():
        setattr(stored, name, value)
    facts = item.entries

    def encode(first: int, messages: Sequence[JSON]) -> list[NewEntry]:
        return encode_facts(messages, None if facts is None else facts[first : first + len(messages)])

    saved = await _saving.save(
        backend, stored, owner, force=True, encode=encode, with_new_ids=plan.is_other_line
    )
    source = {**item.source.to_json(), "version": Int64(saved.version)}
    update: dict[str, Any] = {"$set": {"source": source, **encode_unknown(item.unknown)}}
    await backend.update_many("conversations", {**owner, "version": saved.version}, update, comment=_CALL)
    return None if plan else ""


def _messages_of(line: Imported) -> Sequence[JSON]:
    return line.conversation.messages


async def _append(
    backend: AsyncBackend, stored: Conversation, owner: Head, item: Imported, start: int
) -> None:
    """Append the messages that are new, with their own times."""
    messages = item.conversation.messages[start:]
    asked = requests.append_request(
        messages,
        now=backend.now(),
        make_key=backend.key,
        artifacts=None,
        resources=None,
        usage={},
        status=None,
        author=None,
        dialect=None,
        key=None,
        keys=None,
        took=None,
        expected=None,
        unfinished=False,
        force=True,
    )
    facts = None if item.entries is None else item.entries[start:]
    asked = replace(asked, entries=tuple(encode_facts(messages, facts)))
    outcome = await _appending.append(backend, owner, asked)
    await _appending.bring_up_to_date(backend, owner, stored, asked, outcome)


async def link(backend: AsyncBackend, links: Links, record: Conversation, id: int, *, dry_run: bool) -> None:
    """Note that the source's ``record`` is stored as ``id``, and mend what named it by its own id before."""
    if not record.id and record.child is None and record.ancestors is None:
        return
    named = [] if record.child is None else [(Link(id, "child"), record.child)]
    named += [(Link(id, "ancestors"), ancestor) for ancestor in record.ancestors or ()]
    mended = links.stored(record.id, id, [one for one, _ in named], [target for _, target in named])
    if dry_run:
        return
    for one in mended:
        query = {"_id": encode_u64(one.id), one.member: encode_u64(record.id)}
        place = "child" if one.member == "child" else "ancestors.$"
        with backend.call(_CALL):
            await backend.update_many(
                "conversations", query, {"$set": {place: encode_u64(id)}}, comment=_CALL
            )
