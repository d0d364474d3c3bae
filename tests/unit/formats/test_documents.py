"""Documents of databases: extended JSON in its generations, loose documents brought together."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from convostore.schemas.formats.extended_json import is_extended, relaxed
from support.importing import detected, imported, only, read, refused

ZERO = "00000000-0000-0000-0000-000000000000"
HEAD: dict[str, Any] = {
    "_id": {"$oid": "66c000000000000000000001"}, "conversationId": "c1", "user": "u1", "title": "T",
    "endpoint": "openAI", "model": "m",
    "messages": [{"$oid": "66c000000000000000000002"}, {"$oid": "66c000000000000000000003"}],
    "createdAt": {"$date": "2026-01-02T03:04:05Z"}, "updatedAt": {"$date": "2026-01-02T03:05:00Z"}, "__v": 0,
}  # fmt: skip
ASKED: dict[str, Any] = {
    "_id": {"$oid": "66c000000000000000000002"}, "messageId": "a", "conversationId": "c1", "user": "u1",
    "parentMessageId": ZERO, "sender": "User", "text": "hi", "isCreatedByUser": True, "tokenCount": 2,
    "createdAt": {"$date": "2026-01-02T03:04:05.006Z"},
}  # fmt: skip
SAID: dict[str, Any] = {
    "_id": {"$oid": "66c000000000000000000003"}, "messageId": "b", "conversationId": "c1", "user": "u1",
    "parentMessageId": "a", "sender": "GPT", "text": "hello", "isCreatedByUser": False,
    "createdAt": {"$date": "2026-01-02T03:04:06Z"},
}  # fmt: skip
AGAIN: dict[str, Any] = {
    **SAID, "_id": {"$oid": "66c000000000000000000004"}, "messageId": "b2", "text": "good day",
    "createdAt": {"$date": "2026-01-02T03:04:09Z"},
}  # fmt: skip


def lines(*documents: Any) -> str:
    return "".join(json.dumps(document) + "\n" for document in documents)


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ({"$numberInt": "5"}, 5),
        ({"$numberLong": "1152921504606846976"}, 1152921504606846976),
        ({"$numberDouble": "1.0"}, 1.0),
        ({"$numberDouble": "-Infinity"}, -math.inf),
        ({"$date": {"$numberLong": "1767323045006"}}, {"$date": "2026-01-02T03:04:05.006Z"}),
        ({"$date": 1767323045000}, {"$date": "2026-01-02T03:04:05Z"}),
        ({"$date": "2026-01-02T04:04:05.006+0100"}, {"$date": "2026-01-02T03:04:05.006Z"}),
        ({"$date": {"$numberLong": "-1"}}, {"$date": {"$numberLong": "-1"}}),
        ({"$binary": "YWJj", "$type": "00"}, {"$binary": {"base64": "YWJj", "subType": "00"}}),
        ({"$binary": {"base64": "YWJj", "subType": "0"}}, {"$binary": {"base64": "YWJj", "subType": "00"}}),
        ([{"a": {"$numberInt": "5"}}], [{"a": 5}]),
        ({"$oid": "66c000000000000000000001"}, {"$oid": "66c000000000000000000001"}),
    ],
)
def test_every_generation_of_extended_json_says_the_same(written: Any, same: Any) -> None:
    assert relaxed(written) == same and type(relaxed(written)) is type(same)
    assert relaxed(same) == same


@pytest.mark.parametrize(
    "odd", [{"$numberInt": 5}, {"$numberInt": "x"}, {"$date": "soon"}, {"$date": "2026-01-02T03:04:05"},
            {"$binary": {"base64": "?"}}, {"$uuid": 5}, {"$numberDouble": "1e999"}]
)  # fmt: skip
def test_what_only_looks_extended_stays(odd: Any) -> None:
    assert relaxed(odd) == odd


def test_plain_json_is_not_taken_for_extended() -> None:
    assert not is_extended({"_id": "x", "messages": [{"$oid": "x"}]})
    assert is_extended({"_id": {"$oid": "66c000000000000000000001"}})


def test_documents_of_both_collections_make_what_the_export_has() -> None:
    given = lines(AGAIN, HEAD, SAID, ASKED)
    assert detected(given) == "librechat"
    found = only(read(given, "librechat", user=None))
    record = found.conversation
    assert (record.user, found.source.id, record.extra) == ("u1", "c1", {"title": "T"})
    assert [message["content"][0]["text"] for message in record.messages] == ["hi", "good day"]
    assert [message["timestamp"] for message in record.messages] == [1767323045006, 1767323049000]
    (branch,) = found.branches
    assert branch.origin.after == 1 and branch.messages[0]["content"][0]["text"] == "hello"
    assert found.unknown["model"] == "m" and "messages" not in found.unknown


def test_canonical_export_gives_the_same_conversation() -> None:
    canonical = lines(
        {**HEAD, "__v": {"$numberInt": "0"}, "createdAt": {"$date": {"$numberLong": "1767323045000"}},
         "updatedAt": {"$date": {"$numberLong": "1767323100000"}}},
        {**ASKED, "tokenCount": {"$numberInt": "2"},
         "createdAt": {"$date": {"$numberLong": "1767323045006"}}},
        {**SAID, "createdAt": {"$date": {"$numberLong": "1767323046000"}}},
    )  # fmt: skip
    one, other = only(read(canonical, "librechat")), only(read(lines(HEAD, ASKED, SAID), "librechat"))
    assert one.source == other.source and one.conversation == other.conversation
    assert one.unknown == other.unknown


def test_messages_without_their_conversation_are_one_still() -> None:
    found = only(read(json.dumps([ASKED, SAID]), "librechat", user=None))
    assert (found.source.id, found.conversation.user, len(found.conversation.messages)) == ("c1", "u1", 2)


def test_conversation_whose_messages_are_elsewhere_is_skipped_and_said() -> None:
    (only_head,) = read(lines(HEAD), "librechat")
    assert refused([only_head])[0].skipped and "collection messages" in refused([only_head])[0].reason
    empty = only(read(lines({**HEAD, "messages": []}), "librechat"))
    assert empty.conversation.messages == []


def test_documents_of_other_collections_are_refused_by_themselves() -> None:
    call = {
        "_id": {"$oid": "66c000000000000000000009"},
        "messageId": "b",
        "conversationId": "c1",
        "toolId": "t",
    }
    items = read(lines(ASKED, call, SAID, {**HEAD, "_id": 9}), "librechat")
    assert len(imported(items)) == 1 and len(imported(items)[0].conversation.messages) == 2
    assert [(one.position, one.id) for one in refused(items)] == [(2, "66c000000000000000000009")]
