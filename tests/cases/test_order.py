"""Cases J and B: the order of messages, pages of them, and branches."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from convostore.schemas.errors import InvalidRecordError, NotFoundError
from convostore.schemas.json_values import same_json
from support.branched_exports import contents, node, text_of
from support.journeys import PLAIN, Clock, Journey

one_face = pytest.mark.parametrize("face", ["sync"], indirect=True)


def numbered(count: int) -> list[dict[str, str]]:
    return [{"role": "user", "content": str(number)} for number in range(count)]


def pages_back(journey: Journey, id: int, limit: int) -> list[int]:
    found: list[int] = []
    cursor: int | None = None
    while True:
        page = journey.store.messages(id, limit=limit, before=cursor)
        found = [*(entry.id for entry in page), *found]
        cursor = page.cursor
        if cursor is None:
            return found


def pages_on(journey: Journey, id: int, limit: int) -> list[int]:
    """The ids behind the first one."""
    found: list[int] = []
    cursor: int | None = 0
    while cursor is not None:
        page = journey.store.messages(id, limit=limit, after=cursor)
        found += [entry.id for entry in page]
        cursor = page.cursor
    return found


def test_J01_every_message_once_in_both_directions(journey: Journey, clock: Clock) -> None:
    store, id = journey.store, journey.new(numbered(1)[0])
    for message in numbered(24)[1:]:
        store.append(id, message)
    store.append(id, numbered(50)[24:])
    assert len(journey.head_document(id)["segments"]) > 1
    for limit in (1, 7, 10, 49, 50, 51):
        assert pages_back(journey, id, limit) == list(range(50))
        assert pages_on(journey, id, limit) == list(range(1, 50))
    assert {entry.made for entry in store.entries(id)} == {clock.now}
    for place in range(0, 50, 3):
        before, after = store.messages(id, limit=3, before=place), store.messages(id, limit=3, after=place)
        assert [entry.id for entry in before] == list(range(max(0, place - 3), place))
        assert [entry.id for entry in after] == list(range(place + 1, min(50, place + 4)))


@one_face
def test_J01_pages_of_a_conversation_that_changes(journey: Journey) -> None:
    store, id = journey.store, journey.new(*numbered(20))
    first = store.messages(id, limit=5)
    store.append(id, numbered(30))
    record = store.get(id)
    del record.messages[16]
    del record.messages[3]
    store.save(record)
    second = store.messages(id, limit=5, before=first.cursor)
    assert [entry.id for entry in second] == [10, 11, 12, 13, 14], "going back is not disturbed by appends"
    around = store.messages(id, limit=2, before=16)
    assert [entry.id for entry in around] == [14, 15], "also before one that is gone"
    assert [entry.id for entry in store.messages(id, limit=2, after=3)] == [4, 5]
    assert pages_back(journey, id, 7) == [n for n in range(50) if n not in (3, 16)]


@one_face
def test_J02_the_clock_is_data_not_order(journey: Journey, clock: Clock) -> None:
    store, id = journey.store, journey.new()
    times = [1_735_725_605_000, 1_735_725_603_000, 1_735_725_603_000, 1_451_606_400_000, 0, 2**53]
    for number, now in enumerate(times):
        clock.now = now
        store.append(id, {"role": "user", "content": str(number), "created_at": "2999-01-01T00:00:00Z"})
    entries = list(store.entries(id))
    assert [entry.message["content"] for entry in entries] == list("012345")
    assert [entry.made for entry in entries] == times
    clock.now = 5
    store.append(id, PLAIN)
    assert store.head(id).updated_at == 2**53


@one_face
def test_J04_the_last_ones_of_this_conversation(journey: Journey) -> None:
    first, second = journey.new(*numbered(100)), journey.new(*numbered(3))
    for count in (1, 2, 3, 50):
        page = journey.store.messages(second, limit=count)
        assert same_json([entry.message for entry in page], numbered(3)[-count:])
    assert [entry.id for entry in journey.store.messages(first, limit=2)] == [98, 99]
    assert journey.store.messages(journey.new(), limit=2).items == ()
    assert journey.store.messages(second, limit=3).cursor is None


@one_face
def test_B01_a_parent_that_does_not_exist(journey: Journey) -> None:
    with journey.nothing_written():
        for parent, error in ((2**62, NotFoundError), ("tmp_123_", InvalidRecordError), (0, NotFoundError)):
            with pytest.raises(error):
                journey.store.continue_from(parent, messages=[PLAIN])
    # A record may say so, as an import does: its id is kept, and the record is as reachable as any.
    id = journey.new(PLAIN, ancestors=[2**62])
    assert journey.store.get(id).ancestors == [2**62]
    real = journey.new(PLAIN)
    child = journey.store.continue_from(real, messages=journey.store.get(id).messages)
    assert child.ancestors == [real]


def test_B05_ancestors_are_the_only_truth(journey: Journey) -> None:
    store = journey.store
    root = journey.new(PLAIN)
    first = store.continue_from(root, key="one")
    assert store.continue_from(root, key="one").id == first.id, "a repeated call makes one child"
    second = store.continue_from(root)
    grandchild = store.continue_from(second.id)
    assert (first.ancestors, second.ancestors) == ([root], [root])
    assert grandchild.ancestors == [root, second.id]
    assert store.head(root).child == first.id, "the first to go on stays"
    store.delete(first.id)
    assert store.head(root).child == first.id, "a link is no promise"
    assert store.get(grandchild.id).ancestors == [root, second.id]
    assert store.update(root, child=None).child is None
    third = store.continue_from(root)
    assert store.head(root).child == third.id


@one_face
def test_B06_another_first_message(journey: Journey) -> None:
    store, id = journey.store, journey.new(*numbered(3))
    branch = store.fork(id, 0, exact=True)
    store.edit(branch.id, 0, {"role": "user", "content": "0b"})
    store.append(branch.id, {"role": "assistant", "content": "1b"})
    assert same_json(store.get(id).messages, numbered(3))
    assert [message["content"] for message in store.get(branch.id).messages] == ["0b", "1b"]
    store.edit(id, 0, {"role": "user", "content": "0c"})
    assert [message["content"] for message in store.get(id).messages] == ["0c", "1", "2"]


@one_face
def test_B08_ids_never_grow(journey: Journey) -> None:
    store, id = journey.store, journey.new(*numbered(2))
    for number in range(40):
        store.edit(id, 1, {"role": "assistant", "content": f"answer {number}"})
    assert [entry.id for entry in store.entries(id)] == [0, 1]
    assert store.append(id, PLAIN).ids == (2,)
    siblings = [store.continue_from(id).id for _ in range(10)]
    assert len({len(str(sibling)) for sibling in siblings}) <= 2


@one_face
def test_B09_conversations_with_and_without_lineage_side_by_side(journey: Journey) -> None:
    store, plain = journey.store, journey.new(*numbered(5))
    child = store.continue_from(plain, messages=numbered(2))
    fork = store.fork(plain, 1, exact=True)
    store.edit(fork.id, 1, {"role": "user", "content": "other"})
    assert same_json(store.get(plain).messages, numbered(5))
    assert store.get(plain).ancestors is None and store.get(child.id).ancestors == [plain]
    assert [message["content"] for message in store.get(fork.id).messages] == ["0", "other"]
    assert {head.id for head in store.find(user=journey.user)} == {plain, child.id, fork.id}
    journey._exported()


@one_face
def test_B02_same_tree_whatever_the_order_of_its_messages(journey: Journey) -> None:
    nodes = tree_of_four_branches()
    assert len(nodes) == 30
    found = []
    for number in range(6):
        ids = list(nodes)
        if number:
            random.Random(number).shuffle(ids)
        else:
            ids.reverse()
        user = f"{journey.user} {number}"
        source = {"conversation_id": "t", "current_node": "a9", "mapping": {id: nodes[id] for id in ids}}
        report = journey.store.import_conversations(json.dumps([source]).encode(), user=user)
        assert (report.imported, report.branches, report.messages, report.failed) == (4, 3, 30, 0)
        found.append(contents(journey.store, user))
    assert all(texts(one) == texts(found[0]) for one in found)


def tree_of_four_branches() -> dict[str, Any]:
    """Thirty nodes: ten lead to ``a9``, b and c leave those with seven each, d leaves c with six."""
    nodes: dict[str, Any] = {}
    for letter, count, parent in (("a", 10, ""), ("b", 7, "a7"), ("c", 7, "a4"), ("d", 6, "c2")):
        for number in range(count):
            id = f"{letter}{number}"
            nodes |= node(id, parent, "user" if number % 2 else "assistant", id, 1.0 + len(nodes))
            parent = id
    return nodes


def texts(found: list[str]) -> list[list[str]]:
    """The source and the texts of each conversation, without what differs by the order in the file."""
    return [[one[0][0], *(text_of(entry[3]) for entry in one[5])] for one in map(json.loads, found)]
