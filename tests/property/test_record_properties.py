"""The record over generated values: what is written is read back, and no JSON makes a reader fail."""

from __future__ import annotations

import base64
import copy
import json
import math
import pickle
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from convostore.schemas.anda_json import anda_text, load_json
from convostore.schemas.anda_records import AndaOptions, AndaRefused, anda_records
from convostore.schemas.anda_times import read_rfc3339, rfc3339
from convostore.schemas.byte_text import read_bytes, write_bytes
from convostore.schemas.conversations import Conversation
from convostore.schemas.cursors import decode_cursor, encode_cursor
from convostore.schemas.dialects import DIALECTS, dialect_of, message_of, view
from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.identifiers import MAX_U64, Principal, Xid, check_user
from convostore.schemas.json_values import same_json
from convostore.schemas.messages import read_part
from convostore.schemas.usage import COUNTERS, Usage

text = st.text(st.characters(codec="utf-8"), max_size=6)
u64 = st.one_of(st.integers(0, 5), st.integers(0, MAX_U64))
integers = st.integers(-(2**63), MAX_U64)
# What every version can say.
plain = st.recursive(
    st.one_of(st.none(), st.booleans(), integers, st.floats(allow_nan=False, allow_infinity=False), text),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(text, inner, max_size=3)),
    max_leaves=6,
)
# Whatever JSON can say, near what messages and records look like.
names = st.sampled_from(
    [
        "role",
        "content",
        "type",
        "text",
        "name",
        "args",
        "callId",
        "output",
        "tool_calls",
        "function",
        "arguments",
        "id",
        "tool_call_id",
        "refusal",
        "user",
        "messages",
        "result",
        "error",
        "metadata",
        "Ok",
        "f",
        "status",
        "usage",
        "_id",
        "image_url",
        "url",
        "input_audio",
        "data",
        "mimeType",
    ]
)
words = st.one_of(
    st.sampled_from(
        ["user", "tool", "Text", "ToolCall", "ToolOutput", "InlineData", "text", "image_url", "b64:aGk="]
    ),
    st.sampled_from(
        ["Conversation", "<documents>\n{}\n</documents>", '{"a":1}', "refusal", "input_audio", "file"]
    ),
    st.text(st.characters(codec=None, exclude_categories=()), max_size=4),
)
wild = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), words),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(names, words), inner, max_size=5)
    ),
    max_leaves=12,
)
principals = st.binary(max_size=29).map(lambda raw: Principal(raw).text)
xids = st.binary(min_size=12, max_size=12).map(lambda raw: Xid(raw).text)
resources = st.fixed_dictionaries(
    {"_id": u64, "tags": st.lists(text, max_size=2), "name": text},
    optional={
        "description": text,
        "uri": text,
        "mime_type": text,
        "blob": st.binary(max_size=8),
        "size": u64,
        "metadata": st.dictionaries(text, plain, max_size=2),
    },
)
everything = {
    "thread": xids,
    "messages": st.lists(plain, max_size=4),
    "resources": st.lists(resources, max_size=2),
    "artifacts": st.lists(resources, max_size=2),
    "status": st.sampled_from(["submitted", "working", "idle", "completed", "cancelled", "failed"]),
    "failed_reason": text,
    "usage": st.fixed_dictionaries({}, optional=dict.fromkeys(COUNTERS, u64)),
    "steering_messages": st.lists(text, max_size=2),
    "follow_up_messages": st.lists(text, max_size=2),
    "child": u64,
    "ancestors": st.lists(u64, max_size=4, unique=True).map(sorted),
    "label": text,
    "extra": plain,
    "created_at": u64,
    "updated_at": u64,
}
records = st.fixed_dictionaries({"_id": u64, "user": principals}, optional=everything).map(
    lambda members: Conversation(**members)
)


@given(records)
def test_newest_version_is_read_back_equal(record: Conversation) -> None:
    for strict in (True, False):
        assert Conversation.from_json(record.to_json(strict=True), strict=strict) == record
        assert Conversation.from_json(record.to_json_object(), strict=strict) == record
        assert Conversation.from_cbor(record.to_cbor(strict=True), strict=strict) == record


@given(records, st.integers(1, 3))
def test_older_versions_lose_only_what_the_notes_name(record: Conversation, version: int) -> None:
    notes: list[str] = []
    read = Conversation.from_json(record.to_json(version, notes=notes), strict=True)
    lost = {note.partition(":")[0] for note in notes}
    expected = record.model_copy(deep=True)
    for name in lost - {"usage.cached_tokens", "status"}:
        setattr(expected, name, None)
    if "usage.cached_tokens" in lost:
        expected.usage.cached_tokens = 0
    if "status" in lost:
        assert record.status == "idle"
        expected.status = read.status
    assert read == expected


@given(records)
def test_copies_are_equal_and_apart(record: Conversation) -> None:
    for copied in (copy.deepcopy(record), record.model_copy(deep=True), pickle.loads(pickle.dumps(record))):
        assert copied == record
        copied.messages.append("x")
        assert copied != record


@given(wild)
def test_text_of_any_json_is_read_back(value: Any) -> None:
    try:
        written = anda_text(value)
    except InvalidRecordError:
        assert not _is_finite(value)
        return
    written.encode()
    assert same_json(load_json(written), value)


def _is_finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_float_is_written_shortest_and_without_a_plus(number: float) -> None:
    written = anda_text(number)
    assert float(written) == number
    assert "+" not in written and "E" not in written
    assert len(written) <= len(repr(number)) + 2


@given(wild)
def test_no_json_makes_a_dialect_fail(message: Any) -> None:
    assert dialect_of(message) in (None, *DIALECTS)
    for dialect in (None, *DIALECTS):
        seen, model = view(message, dialect), message_of(message, dialect)
        assert all(isinstance(text, str) for text in seen.texts)
        own = message.get("role") if isinstance(message, dict) else None
        # Items of OpenAI's Responses are of a role that they do not name.
        assert model is None or model.role == (own if isinstance(own, str) else model.role)
    json.dumps(read_part(message).to_json())


@given(wild, st.booleans())
def test_no_json_makes_the_reader_of_records_fail(value: Any, strict: bool) -> None:
    for item in anda_records(value, AndaOptions(strict=strict)):
        assert not isinstance(item, AndaRefused) or str(item.error)


@given(records, st.sampled_from(list(everything)), wild)
def test_wrong_member_is_refused_by_its_path_or_read(record: Conversation, name: str, value: Any) -> None:
    for strict in (False, True):
        try:
            Conversation.from_json(record.to_json_object() | {name: value}, strict=strict)
        except InvalidRecordError as error:
            assert error.path.startswith(name)


@given(st.binary(max_size=40))
def test_bytes_are_read_back_in_both_flavours_and_alphabets(raw: bytes) -> None:
    for written in (write_bytes(raw), write_bytes(raw, prefixed=False), base64.b64encode(raw).decode()):
        assert read_bytes(written, "x") == read_bytes(written.rstrip("="), "x") == raw
    assert read_bytes(list(raw), "x") == raw


@given(st.binary(max_size=29), st.binary(min_size=12, max_size=12), u64)
def test_identifiers_are_read_back(principal: bytes, xid: bytes, id: int) -> None:
    made = Principal(principal).text
    assert 8 <= len(made) <= 63
    assert Principal.parse(made).raw == principal
    assert check_user(made) == made
    assert Xid.parse(Xid(xid).text).raw == xid
    assert decode_cursor(encode_cursor(id)) == decode_cursor(encode_cursor(id, prefixed=False)) == id


@given(
    st.binary(min_size=16, max_size=29),
    st.integers(0, 62),
    st.sampled_from("abcdefghijklmnopqrstuvwxyz234567"),
)
def test_one_wrong_letter_in_a_long_principal_is_refused(raw: bytes, place: int, letter: str) -> None:
    made = Principal(raw).text
    place %= len(made)
    changed = made[:place] + letter + made[place + 1 :]
    if made[place] not in ("-", letter):
        try:
            check_user(changed)
        except InvalidRecordError:
            return
        raise AssertionError(changed)


@given(st.text(max_size=30))
def test_any_text_is_a_user_or_refused(user: str) -> None:
    try:
        assert check_user(user) == user
    except InvalidRecordError as error:
        assert error.path == "user"


@given(st.integers(0, 253_402_300_799_999))
def test_time_is_read_back(ms: int) -> None:
    written = rfc3339(ms)
    assert written is not None
    assert read_rfc3339(written, "x") == ms


@given(u64, u64)
def test_sum_of_usage_saturates(first: int, second: int) -> None:
    assert Usage(requests=first).accumulate(Usage(requests=second)).requests == min(first + second, MAX_U64)
