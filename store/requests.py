"""What a caller asked for, checked and encoded: nothing is sent before all of it is in order. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from bson.objectid import ObjectId

from convostore.schemas.conversations import Conversation, ConversationStatus
from convostore.schemas.diff import LISTS, SCALARS, Changes, Snapshot, diff
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.json_values import JSON, images, same_json
from convostore.schemas.resources import Resource
from convostore.schemas.usage import COUNTERS, Usage, checked_counters
from convostore.store import history, parameters
from convostore.store.appending import Append
from convostore.store.baselines import Baseline, baseline
from convostore.store.codec import document_size
from convostore.store.heads import encode_attachment
from convostore.store.limits import check_attachments
from convostore.store.runs import NewEntry, encode_entries

__all__ = [
    "append_request",
    "attachments",
    "check_members",
    "check_unchanged_messages",
    "given_usage",
    "unsaved_members",
]

UsageErrors = Literal["raise", "report"]


def given_usage(value: Any, errors: UsageErrors) -> tuple[dict[str, int], tuple[str, ...]]:
    """The counters given, and under ``report`` what was refused of them. None is unknown: no counters at all.

    Raises:
        InvalidRecordError: a counter is no count and ``errors`` is ``raise``.

    """
    if errors not in ("raise", "report"):
        raise InvalidRecordError("usage_errors", "must be raise or report")
    if value is None:
        return {}, ()
    try:
        counters = checked_counters(value)
    except InvalidRecordError as error:
        if errors == "raise":
            raise
        return {}, (str(error),)
    return {name: counters[name] for name in COUNTERS if counters.get(name)}, ()


def append_request(
    messages: Any,
    *,
    now: int,
    make_key: Callable[[], ObjectId],
    artifacts: Sequence[Resource] | None,
    resources: Sequence[Resource] | None,
    usage: Mapping[str, int],
    status: Any,
    author: Any,
    dialect: str | None,
    key: Any,
    keys: Any,
    took: Any,
    expected: Any,
    unfinished: bool,
    force: bool,
    model: str | None = None,
) -> Append:
    """One append, ready to be sent."""
    given = parameters.messages(messages)
    checked_key = parameters.call_key(key)
    checked_keys = parameters.call_keys(keys, len(given))
    if checked_key is not None and checked_keys is not None:
        raise InvalidRecordError("keys", "give key, for the call, or keys, one a message; not both")
    if checked_keys is not None and not checked_keys:
        checked_keys = None
    who = parameters.author(author)
    wanted = None if status is None else parameters.status(status)
    entries = encode_entries(
        given,
        made=now,
        author=None if who is None else who.to_json(),
        dialect=None if dialect is None else parameters.plain_text(dialect, "dialect", most=64),
        unfinished=parameters.flag(unfinished, "unfinished"),
    )
    attached = {
        "resources": attachments("resources", resources),
        "artifacts": attachments("artifacts", artifacts),
    }
    own = checked_key is None and checked_keys is None
    digests: tuple[int, ...] = ()
    if checked_keys is not None:
        digests = tuple(history.digest(message) for message in given)
    elif checked_key is not None:
        asked = None if wanted is None else wanted.value
        digests = (history.digest(given, dict(usage), asked),)
    attachment_bytes = sum(document_size(entry.stored) for found in attached.values() for entry in found)
    check_attachments(attachment_bytes)
    return Append(
        tuple(entries),
        now,
        (make_key(),) if own else checked_keys or (str(checked_key),),
        digests,
        checked_keys is not None,
        None if who is None else who.to_json(),
        usage,
        wanted,
        parameters.flag(force, "force"),
        attached,
        attachment_bytes,
        None if took is None else parameters.plain_text(took, "took"),
        parameters.version(expected),
        None if model is None else parameters.plain_text(model, "model"),
        tuple(given),
        own,
    )


def attachments(name: str, given: Any) -> tuple[NewEntry, ...]:
    """Resources of a record, one or a list, as they are stored in it.

    Raises:
        InvalidRecordError: one is no resource, or holds what JSON cannot say.

    """
    if given is None:
        return ()
    listed = given if isinstance(given, (list, tuple)) else [given]
    for place, item in enumerate(listed):
        if not isinstance(item, Resource):
            raise InvalidRecordError(f"{name}[{place}]", f"must be a Resource, not a {type(item).__name__}")
    return tuple(encode_attachment(item.to_json(), f"{name}[{place}]") for place, item in enumerate(listed))


def check_members(record: Conversation) -> None:
    """Check the members that a copy may have brought past the model (pydantic's ``model_copy(update=...)``).

    Raises:
        InvalidRecordError: one is not what it must be.

    """
    for name in LISTS:
        held = record.__dict__.get(name)
        if not isinstance(held, (list, tuple)):
            raise InvalidRecordError(name, f"must be a list, not {type(held).__name__}")
    members = {name: record.__dict__.get(name) for name in SCALARS if name != "extra"}
    checked = Conversation.checked({**members, "user": baseline(record).head["user"]})
    record.__dict__["status"] = checked.status
    usage = Usage.checked(record.usage)
    if not isinstance(record.usage, Usage):
        record.__dict__["usage"] = usage


def unsaved_members(record: Conversation, noted: Baseline, status: ConversationStatus | None) -> Changes:
    """What a record in hand keeps unsaved over an append that brings ``status``, which is the newer one.

    Raises:
        InvalidRecordError: a member that is fixed at creation was changed.

    """
    unsaved = diff(noted.snapshot, Snapshot.of(record, noted.snapshot.lists))
    later = {"updated_at"}
    if status is not None:
        later |= {"status"} if status is ConversationStatus.FAILED else {"status", "failed_reason"}
    return replace(
        unsaved,
        set={name: value for name, value in unsaved.set.items() if name not in later},
        unset=tuple(name for name in unsaved.unset if name not in later),
    )


def check_unchanged_messages(record: Conversation) -> Baseline:
    """The record's baseline, when its messages are as they were stored.

    Raises:
        InvalidRecordError: they were changed and not saved, a member is not what it must be or was fixed at
            creation, or the record was never stored.

    """
    noted = baseline(record)
    check_members(record)
    unsaved_members(record, noted, None)
    if images(record.messages) == noted.snapshot.lists["messages"]:
        return noted
    if same_json(noted.snapshot.items("messages"), list[JSON](record.messages)):
        return noted
    raise InvalidRecordError(
        "messages", "were changed and not saved: save the record first, or append by its id"
    )
