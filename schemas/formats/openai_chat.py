"""OpenAI chat conversations: JSON Lines of ``{"id"?, "metadata"?, "messages": [...]}``. Pure.

Read as well: one array of such objects, a bare list of messages a line, a list of messages as the whole
input, and one message a line, when the input is one conversation. Messages stay as they came.
``metadata`` becomes the record's ``extra``; other members go to ``unknown``. A conversation is known
again by its ``id``, else by the SHA-256 of its content, with ``#2`` for the second of the same content.
``created_at`` of a message or a conversation (RFC 3339 with a zone, or seconds or milliseconds since
1970) is its time as well; one that is no time is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import chain
from typing import Any, NamedTuple

from convostore.schemas.anda_times import read_rfc3339
from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.dialects import dialect_of
from convostore.schemas.entries import Source
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.formats.anthropic import is_request
from convostore.schemas.formats.items import Facts, Found, Imported, ReadOptions, Refused
from convostore.schemas.identifiers import check_user
from convostore.schemas.json_output import foreign_json
from convostore.schemas.json_values import JSON, MAX_DEPTH, text_digest
from convostore.schemas.usage import Usage

__all__ = ["NAME", "fits", "read", "write"]

NAME = "openai"

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_OF_OTHERS = frozenset({"history", "mapping", "chat", "chat_messages", "conversations", "system"})
_BLOCKS_OF_OTHERS = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "document", "input_text", "output_text"}
)
_OF_ANDA = frozenset({"status", "usage", "period", "artifacts", "updated_at"})
_STATES = frozenset({"messages", "extra"})
_OTHER_DIALECTS = frozenset({"anthropic", "openai-responses"})
_NO_TIME = Facts(dialect=NAME)
_NAMED_BY_CONTENT = "sha256:"


def fits(value: JSON) -> bool:
    """Whether the value looks like what this format holds: a conversation, its messages, or one message."""
    if isinstance(value, list):
        return bool(value) and all(map(_looks_like_chat, value[:3])) and not any(map(_is_of_others, value))
    if _looks_like_chat(value):
        return True
    if not isinstance(value, dict) or len(_OF_ANDA & value.keys()) > 1 or _OF_OTHERS & value.keys():
        return False
    messages = value.get("messages")
    if not isinstance(messages, list) or any(map(_is_of_others, messages)) or is_request(value):
        return False
    return all(map(_looks_like_chat, messages[:3]))


def _is_of_others(message: JSON) -> bool:
    """Whether it is unmistakably a message of another provider's, or an item."""
    return dialect_of(message) in _OTHER_DIALECTS


def _looks_like_chat(value: JSON) -> bool:
    """Whether it is a message as chat completions have it, and not one of another program's."""
    if not _is_message(value) or value["role"] not in _ROLES or "type" in value or "parentId" in value:
        return False
    content = value.get("content")
    if not isinstance(content, list):
        return content is None or isinstance(content, str)
    kinds = [str(part.get("type", "")) for part in content if isinstance(part, dict)]
    # Anda's parts begin with a capital.
    return not any(kind in _BLOCKS_OF_OTHERS or kind[0:1].isupper() for kind in kinds)


def _is_message(value: JSON) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and "messages" not in value


def read(values: Iterable[Found | Refused], options: ReadOptions) -> Iterator[Imported | Refused]:
    """The conversations in the values; each is ``completed`` and belongs to ``options.user``.

    Raises:
        InvalidRecordError: ``options.user`` is missing or no valid id.

    """
    if options.user is None:
        raise InvalidRecordError(
            "user", f"the {NAME} format names no user; say whose the conversations are (--user)"
        )
    blank = Conversation(user=check_user(options.user), status=ConversationStatus.COMPLETED)
    owned = _Owned(blank, options.file)
    seen: dict[int, int] = {}
    waiting = iter(values)
    conversations = 0
    for found in waiting:
        if isinstance(found, Refused):
            yield found
        elif not _is_message(found.value):
            for one in _each(found):
                conversations += 1
                yield _conversation(one, owned, seen)
        elif conversations:
            yield Refused(found.position, "a single message after whole conversations")
        else:
            yield from _one_conversation(found, waiting, owned, seen)


def _each(found: Found) -> Iterable[Found]:
    """The conversations in a list that only began like one of messages; else the value itself."""
    items = found.value
    if not isinstance(items, list) or not any(isinstance(one, dict) and "messages" in one for one in items):
        return [found]
    return [
        Found(f"{found.position}[{place}]", one, () if place else found.notes)
        for place, one in enumerate(items)
    ]


class _Owned(NamedTuple):
    """What is the same for every conversation of an input."""

    blank: Conversation
    file: str | None

    def record(self, messages: list[JSON], extra: JSON, created_at: int, updated_at: int) -> Conversation:
        """A record of these members, which have been checked: a copy of a blank one spares checking them."""
        held = {
            "messages": messages,
            "resources": [],
            "artifacts": [],
            "usage": Usage(),
            "extra": extra,
            "created_at": created_at,
            "updated_at": updated_at,
        }
        return self.blank.model_copy(update=held)


def _one_conversation(
    first: Found, rest: Iterator[Found | Refused], owned: _Owned, seen: dict[int, int]
) -> Iterator[Imported | Refused]:
    """An input of one message a line."""
    messages, notes, refused = list[JSON](), list[str](), 0
    for found in chain([first], rest):
        if isinstance(found, Found) and not _is_message(found.value):
            found = Refused(found.position, "no chat message, as the lines before are: it has no role")
        if isinstance(found, Refused):
            refused += 1
            yield found
            continue
        try:
            _made(found.value, "created_at")
        except InvalidRecordError as error:
            refused += 1
            yield Refused(found.position, str(error))
            continue
        messages.append(found.value)
        notes += found.notes
    if refused:
        notes.append(f"{refused} lines were refused; the conversation lacks them")
    yield _conversation(Found(first.position, messages, tuple(notes)), owned, seen)


def _conversation(found: Found, owned: _Owned, seen: dict[int, int]) -> Imported | Refused:
    value = {"messages": found.value} if isinstance(found.value, list) else found.value
    if not isinstance(value, dict) or found.value == []:
        return Refused(found.position, f"no conversation but {_kind(found.value)}")
    given = value.get("id")
    is_id = isinstance(given, str) or (isinstance(given, int) and not isinstance(given, bool))
    id = str(given) if is_id and given != "" else None
    try:
        return _imported(found, value, id, owned, seen)
    except InvalidRecordError as error:
        return Refused(found.position, str(error), id)
    except RecursionError:
        return Refused(found.position, f"nested too deeply; at most {MAX_DEPTH} levels", id)


def _imported(
    found: Found, value: Mapping[str, JSON], id: str | None, owned: _Owned, seen: dict[int, int]
) -> Imported:
    messages = value.get("messages")
    if not isinstance(messages, list):
        raise InvalidRecordError("messages", "is missing" if messages is None else "is no list")
    facts = [_NO_TIME] * len(messages)
    for place, message in enumerate(messages):
        # Asked here as _is_message does, which takes most of the time of many short messages.
        if type(message) is not dict or type(message.get("role")) is not str or "messages" in message:
            raise InvalidRecordError(f"messages[{place}]", "no chat message: it has no role", index=place)
        if "created_at" in message:
            facts[place] = Facts(_made(message, f"messages[{place}].created_at"), dialect=NAME)
    content, size = found.sha256, found.size
    if id is None or content is None:
        content, size = text_digest(dict(value))
    times = [fact.made for fact in facts if fact is not _NO_TIME and fact.made is not None]
    created = _made(value, "created_at")
    if created is not None:
        times.append(created)
    unknown = dict(value)
    del unknown["messages"]
    if id == value.get("id"):
        unknown.pop("id", None)
    if value.get("metadata") is not None:
        del unknown["metadata"]
    record = owned.record(messages, value.get("metadata"), min(times, default=0), max(times, default=0))
    return Imported(
        position=found.position,
        conversation=record,
        source=Source(NAME, id if id is not None else _nth(content, seen), owned.file, content),
        entries=facts,
        unknown=unknown,
        states=_STATES,
        notes=found.notes,
        size=size,
    )


def _nth(content: str, seen: dict[int, int]) -> str:
    """The name of the content: the same at every import of the same input, different for each occurrence."""
    key = int(content[:16], 16)
    seen[key] = count = seen.get(key, 0) + 1
    return f"{_NAMED_BY_CONTENT}{content}" + (f"#{count}" if count > 1 else "")


def _made(value: Mapping[str, Any], path: str) -> int | None:
    """The time of ``created_at`` in milliseconds; None when there is none.

    Raises:
        InvalidRecordError: it is no time, or a number that may be seconds as well as milliseconds.

    """
    given = value.get("created_at")
    if given is None:
        return None
    if isinstance(given, str):
        return read_rfc3339(given, path)
    if isinstance(given, bool) or not isinstance(given, (int, float)) or given != given or given < 0:
        raise InvalidRecordError(path, f"{foreign_json(given)[:60]} is no time")
    if given < 10**10:
        return int(Decimal(repr(given)) * 1000)
    if 10**11 <= given < 10**14:
        return int(given)
    raise InvalidRecordError(path, f"{given!r:.60} is neither seconds nor milliseconds of a time since 1973")


def _kind(value: JSON) -> str:
    return (
        "null" if value is None else "an empty list" if value == [] else f"a value of {type(value).__name__}"
    )


def write(
    record: Conversation,
    messages: Iterable[JSON],
    source: Source | None = None,
    unknown: Mapping[str, JSON] | None = None,
) -> Iterator[str]:
    """One conversation as a line, in pieces, so that its messages need not be in memory at once.

    It has the ``id`` of its source when that was of this format, else its own; ``extra`` as ``metadata``;
    and the members that the import had no name for.
    """
    ours = source is not None and source.format == NAME
    head: dict[str, JSON] = {}
    if source is None or not ours:
        head["id"] = str(record.id)
    elif not source.id.startswith(_NAMED_BY_CONTENT):
        head["id"] = source.id
    if record.extra is not None:
        head["metadata"] = record.extra
    if ours and unknown:
        head |= unknown
    members = "".join(f"{foreign_json(name)}:{foreign_json(value)}," for name, value in head.items())
    yield "{" + members + '"messages":['
    for place, message in enumerate(messages):
        yield ("," if place else "") + foreign_json(message)
    yield "]}\n"
