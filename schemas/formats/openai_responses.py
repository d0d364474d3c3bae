"""OpenAI's Responses: items, Response objects, pages of the Conversations API, run states of Agents. Pure.

Each item is a message, kept as it came, in the dialect ``openai-responses``; an input that is a text is a
message of the user. Read:

- a list of items, several a line or in an array, items a line, an object with ``items`` or a request's
  ``input``: known again by the SHA-256 of its content, or the ``session_id``, ``conversation_id`` or ``id``
  beside;
- a Response: its ``output``, made at its ``created_at``. Those that follow one another by
  ``previous_response_id`` are one conversation, known again by the first one's ``id``;
- the events of streams, one a line, and recorded exchanges (pairs, cassettes of VCR as JSON, HAR archives):
  the input of the requests and what was answered, without headers;
- a page of items (``object`` is ``list``), with the pages after it as long as ``has_more`` says so. Pages
  that begin with the newest, as the ids' own clocks tell, are turned round. Known again by the first item;
- a RunState: ``original_input`` and ``generated_items`` but for calls that wait for approval. Known again by
  its trace. What its other members say again is left out of them.

What stands around the items lies beside the record. No item has a time of its own. ``instructions`` are not
a message, and stay there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

from convostore.schemas.dialects.openai_responses import DIALECT
from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.counters import usage_of
from convostore.schemas.formats.foreign import Draft, Item, Sources, first_id
from convostore.schemas.formats.http_records import exchanges_in
from convostore.schemas.formats.items import Found, ReadOptions, Refused
from convostore.schemas.formats.json_layout import json_values
from convostore.schemas.formats.message_runs import conversations_in, held_conversations, stated_in
from convostore.schemas.formats.moments import Moments
from convostore.schemas.formats.parts import Piece, rest_of
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.formats.response_exchanges import goes_on, is_response, said, told_in, told_of
from convostore.schemas.formats.response_streams import is_event, unstreamed
from convostore.schemas.formats.run_states import is_run_state, items_of, rest_of_state, trace_of, usage_in
from convostore.schemas.json_values import JSON, dump_text, text_digest
from convostore.schemas.usage import Usage

__all__ = ["NAME", "fits", "is_item", "read", "read_values"]

NAME = "openai-responses"

_LISTS = ("items", "input", "messages")
_IDS = ("session_id", "conversation_id", "conversation", "id")
_OF_REQUESTS = frozenset(
    {
        "instructions",
        "max_output_tokens",
        "previous_response_id",
        "store",
        "reasoning",
        "truncation",
        "include",
    }
)
# The ids of items begin with the time they were made at, after a mark of the conversation in newer ones.
_CLOCK = re.compile(r"[a-z]+_(?:[0-9a-f]{16}00)?([0-9a-f]{8})[0-9a-f]{24,}")


def fits(value: JSON) -> bool:
    """Whether the value looks like what this format holds."""
    is_one = is_item(value) or _is_conversation(value)
    return is_one or held_conversations(value, _is_conversation) is not None


def is_item(value: JSON) -> bool:
    """Whether it is an item that no other program writes."""
    if not isinstance(value, dict) or not DIALECT.fits(value):
        return False
    return "type" in value or isinstance(value.get("content"), list)


def _is_conversation(value: JSON) -> bool:
    if isinstance(value, list):
        return any(map(is_item, value[:20]))
    if not isinstance(value, dict):
        return False
    if is_response(value) or is_run_state(value) or is_response(_batched(value)) or is_event(value):
        return True
    pairs = exchanges_in(Found(0, value))
    if any(isinstance(one, Found) and told_in(one.value) is not None for one in islice(pairs, 3)):
        return True
    given = value.get("input")
    if isinstance(given, str) and _OF_REQUESTS & value.keys():
        return True
    return any(
        isinstance(items, list) and any(map(is_item, items[:20]))
        for items in (*map(value.get, _LISTS), value.get("data") if _is_page(value) else None)
    )


def _is_page(value: JSON) -> bool:
    return isinstance(value, dict) and value.get("object") == "list" and isinstance(value.get("data"), list)


def _batched(value: JSON) -> JSON:
    """The Response in a line of a batch's results."""
    held = value.get("response") if isinstance(value, dict) else None
    return held.get("body") if isinstance(held, dict) else None


def read(source: ByteInput, options: ReadOptions) -> Iterator[Item]:
    """The conversations in the input, in the memory that the largest needs.

    Raises:
        InvalidRecordError: ``options.user`` is missing or no valid id.

    """
    return read_values(json_values(source), options)


def read_values(values: Iterable[Found | Refused], options: ReadOptions) -> Iterator[Item]:
    """The conversations in the values; raises as :func:`read`."""
    sources = Sources(NAME, options, names_user=False)
    each = unstreamed(one for found in values for one in exchanges_in(found))
    runs = conversations_in(each, _begins, _is_whole, lambda value: isinstance(value, dict))
    return sources.each(_chained(runs), lambda found: [_conversation(found, sources)])


def _begins(value: JSON) -> bool:
    """Whether it may be the first of items by themselves, which may look as a message of chat does."""
    if is_item(value):
        return True
    return isinstance(value, dict) and "content" in value and isinstance(value.get("role"), str)


def _is_whole(value: JSON) -> bool:
    return not isinstance(value, list) and _is_conversation(value)


def _chained(values: Iterable[Found | Refused]) -> Iterator[Found | Refused]:
    """Lists of values that are one conversation: mostly of one, and what goes on from another with that."""
    held: list[Found] = []
    for found in values:
        if isinstance(found, Refused):
            yield found
        elif held and _continues(held[-1].value, found.value):
            held.append(found)
        else:
            yield from _together(held)
            held = [found]
    yield from _together(held)


def _together(held: Sequence[Found]) -> Iterator[Found]:
    if held:
        notes = tuple(note for found in held for note in found.notes)
        yield Found(held[0].position, [found.value for found in held], notes)


def _continues(before: JSON, after: JSON) -> bool:
    if _is_page(before) and _is_page(after):
        return before.get("has_more") is True
    earlier, later = told_in(before), told_in(after)
    if earlier is not None and later is not None:
        try:
            return goes_on(earlier, later)
        except RecursionError:  # Each will be refused by itself.
            return False
    if not is_response(before) or not is_response(after):
        return False
    return isinstance(before.get("id"), str) and after.get("previous_response_id") == before["id"]


def _conversation(found: Found, sources: Sources) -> Item:
    values: list[JSON] = found.value
    value = values[0]
    remarks = Remarks()
    if is_response(value):
        told = _of_responses(values, remarks)
    elif _is_page(value):
        told = _of_pages(values, remarks)
    elif is_run_state(value):
        told = _of_run(value, remarks)
    elif told_in(value) is not None:
        told = _of_exchanges(values, remarks)
    elif isinstance(value, dict) and is_response(_batched(value)):
        told = _of_responses([_batched(value)], remarks)
        told.unknown = {**told.unknown, "around": _around(value)}
    elif isinstance(value, list):
        told = _Told(value)
    elif isinstance(value, dict):
        name = next((name for name in _LISTS if name in value), "")
        given = value.get(name)
        items = [said(given)] if isinstance(given, str) else given
        if not isinstance(items, list):
            return Refused(found.position, "it has no items", first_id(value))
        id = first_id(value, *_IDS)
        named = next((one for one in _IDS if id is not None and first_id(value, one) == id), "")
        told = _Told(items, id, rest_of(value, name, named))
    else:
        return Refused(found.position, f"no items but a value of {type(value).__name__}")
    if not told.items:
        return Refused(found.position, "it has no items", told.id, skipped=True)
    for item in told.items:
        if not isinstance(item, dict):
            remarks.add("items that are no objects are kept as they are", item)
    digest, size = text_digest(value if len(values) == 1 else values)
    made = told.made or [None] * len(told.items)
    stated = stated_in(told.unknown, Moments(remarks))
    return Draft(
        user=sources.owner(),
        source=sources.identified(told.id, digest),
        pieces=[Piece(item, at, NAME) for item, at in zip(told.items, made, strict=True)],
        size=size,
        title=stated.title,
        created=stated.created,
        updated=stated.updated,
        usage=told.usage,
        unknown=stated.unknown,
        notes=(*found.notes, *remarks.lines()),
    ).imported(found.position)


class _Told:
    """What an input of one of the forms says; ``made`` is parallel to ``items``, or empty."""

    def __init__(
        self,
        items: list[JSON],
        id: str | None = None,
        unknown: Mapping[str, JSON] | None = None,
        made: Sequence[int | None] = (),
        usage: Usage | None = None,
    ) -> None:
        self.items = items
        self.id = id
        self.unknown: Mapping[str, JSON] = unknown or {}
        self.made = made
        self.usage = usage


def _around(value: Mapping[str, Any]) -> dict[str, JSON]:
    held = value["response"]
    return {**rest_of(value, "response"), "response": rest_of(held, "body", "headers")}


def _of_responses(values: Sequence[Mapping[str, Any]], remarks: Remarks) -> _Told:
    items: list[JSON] = []
    made: list[int | None] = []
    usage = Usage()
    moments = Moments(remarks, "seconds")
    for value in values:
        at = moments.read(value.get("created_at"))
        items += value["output"]
        made += [at] * len(value["output"])
        used = usage_of(value.get("usage"), remarks)
        if used is not None:
            usage.accumulate(used)
    about = [rest_of(value, "output", "id" if first_id(value, "id") else "") for value in values]
    unknown: dict[str, JSON] = (
        about[0] if len(about) == 1 else {"responses": [rest_of(one, "output") for one in values]}
    )
    return _Told(items, first_id(values[0], "id"), unknown, made, usage)


def _of_exchanges(values: Sequence[JSON], remarks: Remarks) -> _Told:
    found = told_of([exchange for exchange in map(told_in, values) if exchange is not None], remarks)
    answers = _of_responses(found.responses, remarks)
    made = {dump_text(item): at for item, at in zip(answers.items, answers.made, strict=True)}
    times = [made.get(dump_text(item)) for item in found.items]
    return _Told(found.items, answers.id, found.unknown, times, answers.usage)


def _of_pages(values: Sequence[Mapping[str, Any]], remarks: Remarks) -> _Told:
    items = [item for value in values for item in value["data"]]
    if _is_newest_first(items):
        remarks.add("pages that begin with the newest item were turned round")
        items.reverse()
    about = list(map(_about_page, values))
    unknown: dict[str, JSON] = about[0] if len(about) == 1 else {"pages": about} if any(about) else {}
    return _Told(items, first_id(items[0], "id") if items else None, unknown)


def _about_page(value: Mapping[str, Any]) -> dict[str, JSON]:
    """What a page says that its items do not."""
    data = value["data"]
    ends = {"first_id": data[0], "last_id": data[-1]} if data else {}
    usual = [
        name for name, item in ends.items() if isinstance(item, dict) and value.get(name) == item.get("id")
    ]
    usual += ["has_more"] if isinstance(value.get("has_more"), bool) else []
    return rest_of(value, "object", "data", *usual)


def _is_newest_first(items: Sequence[JSON]) -> bool:
    clocks = [clock for clock in map(_clock, items) if clock is not None]
    if len(clocks) < len(items) or not clocks or clocks[0] <= clocks[-1]:
        return False
    return all(after <= before for before, after in pairwise(clocks))


def _clock(item: JSON) -> str | None:
    id = item.get("id") if isinstance(item, dict) else None
    found = _CLOCK.fullmatch(id) if isinstance(id, str) else None
    return None if found is None else found[1]


def _of_run(value: Mapping[str, Any], remarks: Remarks) -> _Told:
    given, generated = items_of(value)
    items = [said(given)] if isinstance(given, str) else list(given)
    items += generated
    return _Told(items, trace_of(value), rest_of_state(value, items), usage=usage_in(value, remarks))
