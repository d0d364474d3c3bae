"""Queued texts under random steering, taking, lapsing and giving back: none lost, none twice, in order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from convostore.schemas.errors import LeaseLostError, TooLargeError
from convostore.store import queues
from convostore.store.codec import document_size
from convostore.store.heads import QUEUES, queue_texts
from convostore.store.layout import Limits

OWNER = {"_id": 1, "user": "alice"}
LEASE_MS = 100


def applied(head: dict[str, Any], update: dict[str, Any]) -> dict[str, Any]:
    """The head after the update, as the server would leave it: all operators look at what was before."""
    after = dict(head)
    for name in update.get("$unset", {}):
        after.pop(name, None)
    for old, new in update.get("$rename", {}).items():
        if old in head:
            after[new] = after.pop(old)
    for path, value in update.get("$set", {}).items():
        name, _, member = path.partition(".")
        after[name] = {**after[name], member: value} if member else value
    for name, by in update.get("$inc", {}).items():
        after[name] = after.get(name, 0) + by
    for name, least in update.get("$max", {}).items():
        after[name] = max(after.get(name, least), least)
    for name, push in update.get("$push", {}).items():
        held = after.get(name, [])
        at = push.get("$position", len(held))
        after[name] = [*held[:at], *push["$each"], *held[at:]]
    return after


def taken(head: dict[str, Any], receipt: str, now: int, lease_ms: int) -> dict[str, Any]:
    """What a taker leaves who first puts back what a lapsed lease holds; unchanged while one holds."""
    if "taken" in head:
        if queues.is_held(head, now):
            return head
        head = applied(head, queues.put_back(OWNER, head)[1])
    if not any(head.get(name) for name in QUEUES):
        return head
    query, update = queues.take(OWNER, receipt, receipt, now, lease_ms)
    assert query["taken"] == {"$exists": False}
    head = applied(head, update)
    return head if lease_ms else applied(head, queues.take_for_good(OWNER, receipt, now)[1])


steps = st.lists(
    st.one_of(
        st.tuples(st.just("enqueue"), st.sampled_from(sorted(QUEUES))),
        st.sampled_from([("take", LEASE_MS), ("take", 0), ("lapse", 0), ("give back", 0), ("store", 0)]),
    ),
    max_size=25,
)


@given(steps)
def test_texts_are_neither_lost_nor_doubled_nor_moved(steps: list[tuple[str, Any]]) -> None:
    head: dict[str, Any] = {}
    now, number = 1000, 0
    waiting: dict[str, list[str]] = {name: [] for name in QUEUES}
    leased: dict[str, list[str]] = {name: [] for name in QUEUES}
    holds = False
    for step, (kind, detail) in enumerate(steps):
        receipt = f"receipt-{step}"
        if kind == "enqueue":
            number += 1
            head = applied(head, queues.enqueue(OWNER, detail, f"text {number}", now, head)[1])
            waiting[detail].append(f"text {number}")
        elif kind == "take" and not holds:
            head = taken(head, receipt, now, detail)
            if any(waiting.values()):
                got = queues.queued(head)
                assert got.receipt == receipt
                assert list(got.steering) == waiting["steering_messages"]
                assert list(got.follow_ups) == waiting["follow_up_messages"]
                leased, waiting = waiting, {name: [] for name in QUEUES}
                holds = bool(detail)
        elif kind == "lapse":
            now += LEASE_MS
            if holds:
                waiting = {name: leased[name] + waiting[name] for name in QUEUES}
                holds = False
        elif kind == "give back" and holds:
            assert queues.give_back(head, head["taken"]["receipt"], now)
            head = applied(head, queues.put_back(OWNER, head, returned=head["taken"]["receipt"])[1])
            waiting = {name: leased[name] + waiting[name] for name in QUEUES}
            holds = False
        elif kind == "store" and holds:
            head = applied(head, {"$unset": dict.fromkeys(queues.LEASE_FIELDS, "")})
            holds = False
        for name in QUEUES:
            # What is under a lease is shown as waiting, until it is stored or taken for good.
            shown = leased[name] + waiting[name] if holds else waiting[name]
            assert (queue_texts(head, name) or []) == shown
        stored = [item for name in QUEUES for item in head.get(name, [])]
        assert head.get("queue_bytes", 0) == sum(map(document_size, stored))


def test_both_queues_together_have_a_limit() -> None:
    head: dict[str, Any] = {}
    for _ in range(4):
        update = queues.enqueue(OWNER, "steering_messages", "x" * (2**20 - 1000), 1, head)[1]
        head = applied(head, update)
    with pytest.raises(TooLargeError) as refusal:
        queues.enqueue(OWNER, "follow_up_messages", "x" * 5000, 1, head)
    assert refusal.value.limit == Limits.QUEUED_TOTAL
    # Who has not seen the head is stopped by the filter.
    query, _ = queues.enqueue(OWNER, "follow_up_messages", "x" * 5000, 1, None)
    assert query["$expr"]["$lte"][1] < head["queue_bytes"]


def test_texts_under_a_lease_count_until_they_are_taken_for_good() -> None:
    head: dict[str, Any] = {}
    for _ in range(4):
        update = queues.enqueue(OWNER, "steering_messages", "x" * (2**20 - 1000), 1, head)[1]
        head = applied(head, update)
    leased = applied(head, queues.take(OWNER, "k", "receipt", 1, LEASE_MS)[1])
    with pytest.raises(TooLargeError):
        queues.enqueue(OWNER, "follow_up_messages", "x" * 5000, 1, leased)
    gone = applied(leased, queues.take_for_good(OWNER, "receipt", 2)[1])
    queues.enqueue(OWNER, "follow_up_messages", "x" * 5000, 2, gone)


@pytest.mark.parametrize(
    ("head", "receipt"),
    [
        ({}, "r"),
        ({"taken": {"receipt": "other", "until": 50}}, "r"),
        ({"taken": {"receipt": "r", "until": 10}}, "r"),
        ({"taken": {"receipt": "r", "until": 50, "final": True}}, "r"),
    ],
    ids=["nothing taken", "another's", "lapsed", "taken for good"],
)
def test_only_a_receipt_that_holds_can_be_given_back(head: dict[str, Any], receipt: str) -> None:
    with pytest.raises(LeaseLostError):
        queues.give_back(head, receipt, 10)


def test_a_receipt_given_back_again_changes_nothing() -> None:
    assert queues.give_back({"returned": "r"}, "r", 10) is False


def test_a_key_for_another_text_or_queue_is_told_apart() -> None:
    digests = {
        queues.text_digest("steering_messages", "a"),
        queues.text_digest("steering_messages", "b"),
        queues.text_digest("follow_up_messages", "a"),
    }
    assert len(digests) == 3
