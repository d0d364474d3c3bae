"""Codex's rollouts: JSON Lines of one session, in the form since 2025-09 and in the one before. Pure.

Each item of the model's API (``response_item``) is a message, kept as it came. Events that repeat what the
items say are left out, but for the counts of tokens. Also read: an array of the lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.counters import usage_of
from convostore.schemas.formats.foreign import Draft, Item, Sources, first_id
from convostore.schemas.formats.items import Found, Position, ReadOptions, Refused
from convostore.schemas.formats.json_layout import json_values
from convostore.schemas.formats.moments import Moments, clock_of
from convostore.schemas.formats.parts import Piece, rest_of
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.formats.session_lines import LinesDigest, kept_lines
from convostore.schemas.json_values import JSON, MAX_DEPTH, dump_text
from convostore.schemas.usage import Usage

__all__ = ["NAME", "fits", "read"]

NAME = "codex"

_DIALECT = "openai-responses"
_KINDS = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
# What the first line of the older form has, and what its later lines are.
_OLD_HEAD = frozenset({"id", "timestamp", "instructions"})
# Events that say again what items say, or count.
_REPEATS = frozenset(
    {"agent_message", "agent_reasoning", "agent_reasoning_raw_content", "token_count", "user_message"}
)


def fits(value: JSON) -> bool:
    """Whether the value looks like what this format holds."""
    if isinstance(value, list):
        return any(map(fits, value[:3]))
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if isinstance(kind, str) and kind in _KINDS and "payload" in value:
        return True
    return "type" not in value and (value.keys() >= _OLD_HEAD or "record_type" in value)


def read(source: ByteInput, options: ReadOptions) -> Iterator[Item]:
    """The session in the input.

    Raises:
        InvalidRecordError: ``options.user`` is missing or no valid id.

    """
    return _read(source, Sources(NAME, options, names_user=False))


def _read(source: ByteInput, sources: Sources) -> Iterator[Item]:
    session = _Session()
    for found in json_values(source):
        if isinstance(found, Refused):
            yield found
            continue
        items = found.value if isinstance(found.value, list) else None
        if items is None:
            yield from session.take(found.position, found.value)
        for place, item in enumerate(items or ()):
            yield from session.take(f"{found.position}[{place}]", item)
    if session.begun is not None:
        begun = session.begun
        yield from sources.each([Found(begun, None)], lambda _: [session.imported(begun, sources)])


@dataclass(slots=True)
class _Session:
    """The lines of a rollout, as they come."""

    begun: Position | None = None
    meta: Mapping[str, JSON] | None = None
    pieces: list[Piece] = field(default_factory=list)
    others: list[Mapping[str, JSON]] = field(default_factory=list)
    times: list[int | None] = field(default_factory=list)
    content: LinesDigest = field(default_factory=LinesDigest)
    remarks: Remarks = field(default_factory=Remarks)
    totals: Mapping[str, JSON] | None = None
    requests: int = 0

    def take(self, position: Position, value: JSON) -> Iterator[Refused]:
        if not isinstance(value, dict):
            yield Refused(position, f"no line of a rollout but a value of {type(value).__name__}")
            return
        try:
            self.content.add(dump_text(value))
        except RecursionError:
            yield Refused(position, f"nested too deeply; at most {MAX_DEPTH} levels")
            return
        if self.begun is None:
            self.begun = position
        moments = Moments(self.remarks)
        made = moments.read(value.get("timestamp"))
        self.times.append(made)
        kind, payload = value.get("type"), value.get("payload")
        if kind == "response_item" and payload is not None:
            told = ("type", "payload", "timestamp") if made is not None else ("type", "payload")
            self._message(payload, made, rest_of(value, *told), moments)
        elif "payload" not in value and isinstance(kind, str):
            # The older form: the line is the item.
            self._message(rest_of(value, "timestamp") if made is not None else value, made, {}, moments)
        elif kind == "session_meta" and self.meta is None and isinstance(payload, dict):
            self.meta = payload
            self.times.append(moments.read(payload.get("timestamp")))
        elif kind is None and self.meta is None and _OLD_HEAD & value.keys():
            self.meta = value
        else:
            self._count(payload)
            self._keep(value)

    def _message(self, item: JSON, made: int | None, beside: Mapping[str, JSON], moments: Moments) -> None:
        if isinstance(item, dict):
            stated = moments.read(item.get("timestamp"))
            made = stated if stated is not None else made
            self._count(item)
            if beside:
                item = {**item, "source": dict(beside)}
        else:
            self.remarks.add("items that are no objects are kept as they are", item)
        self.times.append(made)
        self.pieces.append(Piece(item, made, _DIALECT))

    def _count(self, payload: JSON) -> None:
        """Take the tokens counted so far; a count that says the same again is of no other request."""
        if not isinstance(payload, dict) or payload.get("type") != "token_count":
            return
        info = payload.get("info")
        totals = info.get("total_token_usage") if isinstance(info, dict) else payload
        if isinstance(totals, dict) and totals != self.totals and usage_of(totals, Remarks()) is not None:
            self.totals = totals
            self.requests += 1

    def _keep(self, value: Mapping[str, JSON]) -> None:
        payload = value.get("payload")
        kind = payload.get("type") if isinstance(payload, dict) else None
        if value.get("type") == "event_msg" and isinstance(kind, str) and kind in _REPEATS:
            self.remarks.add(f"events that repeat what items say were left out, of the type {kind}")
        else:
            self.others.append(value)

    def imported(self, position: Position, sources: Sources) -> Item:
        """The session as a conversation."""
        id = first_id(self.meta, "id")
        if not self.pieces:
            return Refused(
                position, f"it has no messages, only {len(self.others)} other lines", id, skipped=True
            )
        usage = usage_of(self.totals, self.remarks, requests=self.requests) or Usage()
        if id is not None and all(time is None for time in self.times):
            self.times.append(clock := clock_of(id))
            if clock is not None:
                self.remarks.add("times taken from the clock in the source's own identifiers", id)
        unknown: dict[str, JSON] = {} if self.meta is None else {"session_meta": dict(self.meta)}
        kept = kept_lines(self.others, self.remarks)
        if kept:
            unknown["lines"] = kept
        return Draft(
            user=sources.owner(),
            source=sources.identified(id, self.content.sha256()),
            pieces=self.pieces,
            size=self.content.size,
            created=self.times,
            usage=usage,
            unknown=unknown,
            notes=self.remarks.lines(),
        ).imported(position)
