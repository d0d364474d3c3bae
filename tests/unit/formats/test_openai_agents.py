"""Sessions of OpenAI's Agents SDK as documents: turns, single items, cleared history, what is broken."""

from __future__ import annotations

import json
from typing import Any

from support.importing import detected, imported, only, read, refused

BATCH_MS = 1_767_323_045_000  # of the ObjectIds below


def oid(number: int) -> dict[str, str]:
    return {"$oid": f"695735a5{number:016x}"}


SESSION: dict[str, Any] = {
    "_id": oid(1), "session_id": "s", "_seq": 4, "_generation": 0,
    "created_at": {"$date": "2026-01-02T03:04:05.100Z"}, "updated_at": {"$date": "2026-01-02T03:05:00Z"},
}  # fmt: skip
ASKED = {"role": "user", "content": "2+2?"}
CALL = {"type": "function_call", "call_id": "k", "name": "add", "arguments": '{"a":2}'}
RESULT = {"type": "function_call_output", "call_id": "k", "output": "4"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "4"}]}


def turn(seq: int, *items: Any, **more: Any) -> dict[str, Any]:
    held = [json.dumps(item) for item in items]
    return {"_id": oid(seq), "session_id": "s", "seq": seq, "generation": 0, "message_data": held, **more}


SESSION_OF_TWO_TURNS = [SESSION, turn(2, ASKED, CALL, RESULT), turn(3, SAID)]


def lines(*documents: Any) -> str:
    return "".join(json.dumps(document) + "\n" for document in documents)


def test_items_are_kept_as_they_came_in_the_order_of_seq() -> None:
    given = lines(turn(3, SAID), turn(2, ASKED, CALL, RESULT), SESSION)
    assert detected(given) == "openai-agents"
    found = only(read(given, "openai-agents"))
    assert found.conversation.messages == [ASKED, CALL, RESULT, SAID]
    assert found.source.id == "s" and found.unknown == {
        name: SESSION[name] for name in SESSION if name != "session_id"
    }
    assert found.entries is not None
    assert {(fact.made, fact.dialect) for fact in found.entries} == {(BATCH_MS, "openai-responses")}
    assert (found.conversation.created_at, found.conversation.updated_at) == (BATCH_MS, BATCH_MS + 55_000)
    assert any("clock in the source's own identifiers" in note for note in found.notes)


def test_single_items_of_older_releases_are_read_with_and_without_the_session() -> None:
    older = {"_id": oid(1), "session_id": "s", "seq": 0, "message_data": json.dumps(ASKED)}
    for documents in ([older], [older, SESSION]):
        assert only(read(lines(*documents), "openai-agents")).conversation.messages == [ASKED]


def test_cleared_history_is_left_out_and_said() -> None:
    session = {**SESSION, "_generation": 1}
    found = only(read(lines(session, turn(0, ASKED), turn(1, SAID, generation=1)), "openai-agents"))
    assert found.conversation.messages == [SAID]
    assert any("cleared history are left out, 1 of 2" in note for note in found.notes)
    alone = only(read(lines(turn(0, ASKED), turn(1, SAID, generation=1)), "openai-agents"))
    assert alone.conversation.messages == [SAID]


def test_broken_items_stand_for_themselves() -> None:
    broken = {**turn(5), "message_data": ["{oops", 7, json.dumps(ASKED)], "note": "x"}
    found = only(read(lines(SESSION, broken), "openai-agents"))
    assert [message["content"] for message in found.conversation.messages] == [["{oops"], [7], "2+2?"]
    assert found.unknown["documents"] == [{"note": "x"}]
    items = read(
        lines(turn(1, ASKED), {"session_id": "s"}, {**turn(2, SAID), "session_id": 5}), "openai-agents"
    )
    assert [one.source.id for one in imported(items)] == ["s", "5"] and len(refused(items)) == 1
