"""Cases H: tool calls and their results. What is stored is the truth; what a model gets is mended from it."""

from __future__ import annotations

import pytest

from convostore.schemas.json_values import JSON, same_json
from convostore.schemas.pairing import faults, pending_calls, validate
from support import killed_clients
from support.journeys import TINY, Journey
from support.servers import Server

one_face = pytest.mark.parametrize("face", ["sync"], indirect=True)


def user(text: str) -> dict[str, JSON]:
    return {"role": "user", "content": text}


def calls(*ids: str) -> dict[str, JSON]:
    made = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def result(id: str, text: str = "done") -> dict[str, JSON]:
    return {"role": "tool", "tool_call_id": id, "content": text}


def view(journey: Journey, id: int, **options: int) -> list[JSON]:
    return [entry.message for entry in journey.store.messages(id, for_model=True, **options)]


@one_face
@pytest.mark.fault
def test_H01_a_turn_cut_by_a_crash_can_go_on(
    journey: Journey, replica_set: Server, databases: tuple[str, str]
) -> None:
    turn = [user("go"), calls("a", "b"), result("a", "1")]
    id = journey.new()
    work, uri = killed_clients.append_and_die, replica_set.uri()
    assert killed_clients.killed_at(10**6, work, uri, databases[0], id, turn)
    stored = journey.store.get(id).messages
    assert same_json(stored, turn)
    assert [call.id for call in pending_calls(stored)] == ["b"]
    journey.store.append(id, user("go on"))
    shown = view(journey, id)
    validate(shown)
    assert [message.get("tool_call_id") for message in shown] == [None, None, "a", "b", None]
    before = journey.stored()
    assert view(journey, id) == shown and journey.stored() == before
    made_up = [entry for entry in journey.store.messages(id, for_model=True) if entry.id == -1]
    assert [entry.message["tool_call_id"] for entry in made_up] == ["b"]


@one_face
def test_H02_a_result_without_a_call_is_kept_but_not_shown(journey: Journey) -> None:
    turn = [user("x"), result("ghost"), user("y")]
    id = journey.new(*turn)
    assert [(fault.kind, fault.index) for fault in faults(journey.store.get(id).messages)] == [
        ("orphan_result", 1)
    ]
    assert same_json(view(journey, id), [turn[0], turn[2]])
    assert same_json(journey.store.get(id).messages, turn)


@one_face
def test_H05_ids_used_twice_or_empty(journey: Journey) -> None:
    for ids in (["dup", "dup", ""], ["", ""], ["a", "a"]):
        turn = [user("x"), calls(*ids), *(result(id, str(number)) for number, id in enumerate(ids))]
        id = journey.new(*turn)
        assert same_json(journey.store.get(id).messages, turn)
        validate(view(journey, id))
        assert faults(turn[:-1]), "one result fewer is reported"
        short = journey.new(*turn[:-1])
        validate(view(journey, short))


@one_face
def test_H06_results_in_the_order_they_came(journey: Journey) -> None:
    turn = [user("x"), calls("a", "b", "c"), result("c"), result("a"), result("b")]
    id = journey.new()
    for message in turn:
        journey.store.append(id, message)
    assert same_json(journey.store.get(id).messages, turn)
    shown = view(journey, id)
    assert [message["tool_call_id"] for message in shown[2:]] == ["a", "b", "c"]
    assert not [entry for entry in journey.store.messages(id, for_model=True) if entry.id == -1]


@one_face
@pytest.mark.fault
def test_H08_a_finished_result_outlives_the_crash_of_the_slow_one(
    journey: Journey, replica_set: Server, databases: tuple[str, str]
) -> None:
    id = journey.new(user("x"), calls("fast", "slow"))
    work, uri = killed_clients.append_and_die, replica_set.uri()
    assert killed_clients.killed_at(10**6, work, uri, databases[0], id, [result("fast", "paid for")])
    assert [call.id for call in pending_calls(journey.store.get(id).messages)] == ["slow"]
    assert [message.get("content") for message in view(journey, id)][2] == "paid for"


@one_face
def test_H09_a_note_between_call_and_result(journey: Journey) -> None:
    turn = [calls("x"), user("note"), result("x")]
    id = journey.new(user("q"), *turn)
    assert same_json(journey.store.get(id).messages[1:], turn)
    assert same_json(view(journey, id)[1:], [turn[0], turn[2], turn[1]])


@one_face
def test_H10_a_window_never_splits_a_pair(journey: Journey) -> None:
    turn = [user("u"), calls("x", "y"), result("x"), result("y"), user("v"), user("w")]
    id = journey.new(*turn * 3)
    for last in range(1, 19):
        plain = [entry.message for entry in journey.store.messages(id, limit=last)]
        assert same_json(plain, (turn * 3)[-last:])
        shown = view(journey, id, limit=last)
        validate(shown)
        assert len(shown) >= last
    for before in range(1, 18):
        validate(view(journey, id, limit=2, before=before))


@one_face
@pytest.mark.fault
def test_H12_a_whole_turn_in_and_out_of_another_process(
    journey: Journey, replica_set: Server, databases: tuple[str, str]
) -> None:
    turn = [user("q"), calls("a", "b"), result("a"), result("b"), calls("c"), result("c")]
    turn += [{"role": "assistant", "content": "done"}, user("thanks")]
    id = journey.new()
    work, uri = killed_clients.append_and_die, replica_set.uri()
    assert killed_clients.killed_at(10**6, work, uri, databases[0], id, turn, bounds=TINY)
    messages = journey.store.get(id).messages
    assert same_json(messages, turn) and len(messages) == 8
    validate(messages)
    assert not pending_calls(messages) and not faults(messages)
    assert same_json(view(journey, id), turn)
