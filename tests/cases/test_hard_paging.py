"""Hard inputs: order, pages, branches and deletes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.schemas.errors import InvalidRecordError, NotFoundError
from convostore.schemas.json_values import same_json
from support import killed_clients
from support.hard_inputs import Row
from support.journeys import PARTS, PLAIN, TINY, Clock, Journey
from support.scale import SCALE
from support.servers import Server

pytestmark = pytest.mark.shared


def milliseconds(text: str) -> int:
    """The time of the row's clock, to the millisecond that ours counts in."""
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000)


def paged(journey: Journey, id: int, *, limit: int, forwards: bool) -> list[Any]:
    """Every entry, page by page, in the order of the log; no page is longer than asked."""
    store, found, cursor = journey.store, [], None
    first = store.messages(id, limit=5000).items[0].id
    if forwards:
        found, cursor = [store.messages(id, limit=5000).items[0]], first
    while True:
        page = (
            store.messages(id, limit=limit, after=cursor)
            if forwards
            else store.messages(id, limit=limit, before=cursor)
        )
        assert len(page) <= limit
        found = [*found, *page] if forwards else [*page, *found]
        cursor = page.cursor
        if cursor is None:
            return found


def test_HI_070_same_millisecond_appends(row: Row, journey: Journey, clock: Clock) -> None:
    frozen, _, repeat = row.value
    clock.now = milliseconds(frozen["at"])
    record = journey.store.get(journey.new())
    for number in range(repeat["times"]):
        message = {**repeat["op"]["message"], "content": str(number)}
        journey.store.append(record, message, expected=number + 1)
    assert [message["content"] for message in record.messages] == [str(n) for n in range(10)]
    assert {entry.made for entry in journey.store.entries(record.id)} == {clock.now}
    assert journey.store.save(record).changed == ()


def test_HI_130_one_clock_tick(row: Row, journey: Journey, clock: Clock) -> None:
    frozen, many, page = row.value
    clock.now = milliseconds(frozen["at"])
    id = journey.new()
    journey.store.append(id, many["messages"])
    for limit in (1, 7, page["size"], 49, 50, 51):
        for forwards in (True, False):
            seen = paged(journey, id, limit=limit, forwards=forwards)
            assert same_json([entry.message for entry in seen], many["messages"])
    assert {entry.made for entry in journey.store.entries(id)} == {clock.now}


def test_HI_131_clock_goes_back(row: Row, journey: Journey, clock: Clock) -> None:
    id: int | None = None
    times = []
    for set_clock, step in zip(row.value[::2], row.value[1::2], strict=True):
        clock.now = milliseconds(set_clock["at"])
        id = journey.new() if id is None else id
        journey.store.append(id, step["message"])
        times.append(clock.now)
    assert id is not None
    entries = list(journey.store.entries(id))
    assert [entry.message["content"] for entry in entries] == ["1", "2", "3"]
    assert [entry.made for entry in entries] == times, "the clock is data, not order"
    assert journey.store.head(id).updated_at == max(times), "it never goes back"


def test_HI_132_last_n_small_session(row: Row, journey: Journey) -> None:
    ids = {}
    for step in row.value:
        if step["do"] == "append_many":
            ids[step["session"]] = journey.new()
            journey.store.append(ids[step["session"]], step["messages"])
    load = row.value[-1]
    wanted = next(s["messages"] for s in row.value if s.get("session") == load["session"] and "messages" in s)
    page = journey.store.messages(ids[load["session"]], limit=load["last"])
    assert same_json([entry.message for entry in page], wanted[-load["last"] :])
    assert page.cursor == page.items[0].id


def test_HI_134_temporary_parent(row: Row, journey: Journey) -> None:
    step = row.value[0]
    with journey.nothing_written():
        with pytest.raises(InvalidRecordError):
            journey.store.continue_from(step["parent"], messages=[step["message"]])
        with pytest.raises(NotFoundError):
            journey.store.continue_from(2**63 + 1, messages=[step["message"]])
    # Ids and parents in the messages' own JSON are data: nothing follows them.
    journey.keeps({"id": step["id"], "parent": step["parent"], **step["message"]})


def test_HI_137_children_list_lies(row: Row, journey: Journey) -> None:
    journey.keeps(*row.value)
    # Between conversations the ancestors are the truth; ``child`` only says who went on first.
    missing = 2**64 - 1
    parent = journey.new(row.value[0], child=missing)
    child = journey.store.continue_from(parent, messages=[row.value[1]])
    assert child.ancestors == [parent]
    assert journey.store.get(parent).child == missing
    assert journey.store.get(child.id).messages == [row.value[1]]
    sibling = journey.store.continue_from(parent)
    assert sibling.ancestors == [parent] and sibling.id != child.id


def test_HI_138_sibling_of_root(row: Row, journey: Journey) -> None:
    messages, edited = row.value[0]["messages"], row.value[1]["message"]
    id = journey.new(*messages)
    branch = journey.store.fork(id, 0, exact=True)
    journey.store.edit(branch.id, 0, edited)
    assert same_json(journey.store.get(id).messages, messages)
    assert same_json(journey.store.get(branch.id).messages, [edited])
    assert {head.id for head in journey.store.find(user=journey.user)} == {id, branch.id}


def test_HI_139_regenerate_300(row: Row, journey: Journey) -> None:
    repeat = row.value[0]
    times = max(30, round(repeat["times"] * SCALE))
    parent = journey.new({"role": "user", "content": "q"}, thread="t")
    answers = [{"role": "assistant", "content": str(number)} for number in range(times)]
    ids = [journey.store.continue_from(parent, messages=[answer]).id for answer in answers]
    assert len(set(ids)) == times and all(type(id) is int for id in ids)
    listed = {head.id for head in journey.store.scan(user=journey.user, thread="t")}
    assert listed == {parent, *ids}
    page = journey.store.find(user=journey.user, thread="t", limit=1000)
    assert all(head.ancestors == (parent,) for head in page if head.id != parent)
    assert journey.store.head(parent).child == ids[0]


@pytest.mark.fault
def test_HI_170_delete_twice(
    row: Row,
    journey: Journey,
    clock: Clock,
    replica_set: Server,
    databases: tuple[str, str],
    raw: MongoClient[dict[str, Any]],
) -> None:
    assert [step["do"] for step in row.value] == ["delete_session"] * 3
    id = journey.new(PLAIN, {"role": "tool", "content": "x" * 70_000})
    for number in range(6):
        journey.store.append(id, {"role": "user", "content": str(number)}, usage={"requests": 1})
    journey.store.steer(id, "and now")
    # Killed after some of its steps; test_P06 tries every one.
    assert killed_clients.killed_at(
        4, killed_clients.delete, replica_set.uri(), databases[0], id, bounds=TINY
    )
    journey.store.delete(id)
    assert not journey.store.delete(id).existed
    left = {name: raw[databases[0]][name].count_documents({"user": journey.user}) for name in PARTS}
    assert not any(left.values()), left
    with pytest.raises(NotFoundError):
        journey.store.get(id)
    assert not journey.store.delete(2**63 - 1).existed
