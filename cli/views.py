"""Conversations as commands show them: JSON members, table rows, messages as text. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from convostore.cli.dates import show_moment
from convostore.cli.output import lines_of, plain
from convostore.schemas.dialects import DIALECTS, view
from convostore.schemas.entries import Entry
from convostore.schemas.json_output import foreign_json

if TYPE_CHECKING:
    from convostore.store.results import ConversationHead

__all__ = ["HEAD_COLUMNS", "HEAD_NUMBERS", "entry_json", "entry_text", "head_json", "head_lines", "head_row"]

HEAD_COLUMNS = ("ID", "USER", "STATUS", "MESSAGES", "TOKENS", "UPDATED", "LABEL", "LAST")
HEAD_NUMBERS = (0, 3, 4)
_OPENING = 60
_RESULT = 400


def entry_json(entry: Entry) -> dict[str, Any]:
    """An entry: its id, its message, and what is known of it."""
    written: dict[str, Any] = {"id": entry.id}
    if entry.made is not None:
        written["made"] = entry.made
    if entry.author is not None:
        written["author"] = entry.author.to_json()
    if entry.dialect is not None:
        written["dialect"] = entry.dialect
    if entry.unfinished:
        written["unfinished"] = True
    written["message"] = entry.message
    return written


def head_json(head: ConversationHead) -> dict[str, Any]:
    """A head: the record's members without its lists and without what is unset, and what the store counts."""
    found: dict[str, Any] = {
        "_id": head.id,
        "user": head.user,
        "thread": head.thread,
        "status": head.status.value,
        "failed_reason": head.failed_reason,
        "usage": head.usage.to_json(),
        "steering_messages": list(head.steering_messages) or None,
        "follow_up_messages": list(head.follow_up_messages) or None,
        "child": head.child,
        "ancestors": list(head.ancestors) or None,
        "label": head.label,
        "extra": head.extra,
        "period": head.period,
        "created_at": head.created_at,
        "updated_at": head.updated_at,
        "version": head.version,
        "revision": head.revision,
        "message_count": head.message_count,
        "message_bytes": head.message_bytes,
        "resource_count": head.resource_count,
        "artifact_count": head.artifact_count,
        "source": head.source.to_json() if head.source else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def head_row(head: ConversationHead, zone: tzinfo) -> Sequence[str]:
    """A head as a row of :data:`HEAD_COLUMNS`."""
    return (
        str(head.id),
        head.user,
        head.status.value,
        f"{head.message_count:,}",
        f"{head.usage.input_tokens + head.usage.output_tokens:,}",
        show_moment(head.updated_at, zone),
        head.label or "",
        plain(_said(head.last), _OPENING) if head.last else "",
    )


def head_lines(head: ConversationHead, zone: tzinfo) -> list[str]:
    """A head as lines of name and value, what is unset left out."""
    usage = head.usage
    named = {
        "conversation": str(head.id),
        "user": head.user,
        "thread": head.thread,
        "status": head.status.value,
        "reason": head.failed_reason,
        "label": head.label,
        "created": show_moment(head.created_at, zone),
        "updated": show_moment(head.updated_at, zone),
        "messages": f"{head.message_count:,} ({head.message_bytes:,} bytes)",
        "tokens": (
            f"{usage.input_tokens:,} in ({usage.cached_tokens:,} cached), {usage.output_tokens:,} out, "
            f"{usage.requests:,} requests"
        ),
        "resources": f"{head.resource_count:,}" if head.resource_count else None,
        "artifacts": f"{head.artifact_count:,}" if head.artifact_count else None,
        "continues": ", ".join(map(str, head.ancestors)) or None,
        "continued by": None if head.child is None else str(head.child),
        "steering": " | ".join(head.steering_messages) or None,
        "follow-ups": " | ".join(head.follow_up_messages) or None,
        "extra": None if head.extra is None else foreign_json(head.extra),
        "from": f"{head.source.format} {head.source.id}" if head.source else None,
        "version": f"{head.version:,}",
    }
    width = max(map(len, named))
    return [f"{name:<{width}}  {plain(value)}" for name, value in named.items() if value is not None]


def entry_text(entry: Entry, zone: tzinfo) -> str:
    """An entry over several lines: who, when, and what was said; tool calls and results in short."""
    role = entry.message.get("role") if isinstance(entry.message, dict) else None
    heading = [f"[{entry.id}]", plain(role) if isinstance(role, str) else "message"]
    if entry.author is not None:
        heading.append(f"by {plain(entry.author.label())}")
    if entry.made is not None:
        heading.append(show_moment(entry.made, zone))
    if entry.unfinished:
        heading.append("(unfinished)")
    return f"{' '.join(heading)}\n{lines_of(_said(entry))}".rstrip()


def _said(entry: Entry) -> str:
    """What the message says: its texts, its calls, its results; its JSON when it is of no known dialect."""
    dialect = entry.dialect if entry.dialect in DIALECTS else None
    seen = view(entry.message, dialect)
    if seen.dialect is None:
        return foreign_json(entry.message)
    said = list(seen.texts)
    said += [f"-> {call.name}({_short(call.arguments)})" for call in seen.calls]
    said += [f"<- {_short(result.output)}" for result in seen.results]
    return "\n".join(said)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else foreign_json(value)
    return text if len(text) <= _RESULT else f"{text[:_RESULT]}\u2026 ({len(text):,} characters)"
