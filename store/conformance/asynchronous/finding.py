"""Contracts on lists of conversations: found, counted, scanned, fetched together."""

from __future__ import annotations

from typing import Any

from convostore.schemas.errors import InvalidRecordError, QueryError
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Group
from convostore.store.conformance.expectations import equal, holds, refused, same
from convostore.store.conformance.samples import HOUR_MS, said, series
from convostore.store.parameters import ALL_USERS

group = Group("find", 201, ("find",))


async def _varied(bench: AsyncBench) -> list[dict[str, Any]]:
    """Thirty conversations of two users, as what was given for each, by rising id."""
    made = []
    for number in range(30):
        members = {
            "user": ("alice", "bob")[number % 2],
            "thread": (None, "t1", "t2")[number % 3],
            "status": ("submitted", "working", "completed", "failed")[number % 4],
            "label": (None, "travel", "work", "")[number // 2 % 4],
            "created_at": bench.clock.now - number * HOUR_MS // 3,
        }
        record = await bench.create(said(str(number)), **members)
        made.append({**members, "id": record.id})
    return made


@group.contract(0)
async def the_newest_come_first(bench: AsyncBench) -> None:
    """A page of heads goes from the highest id down, of that user alone."""
    ids = [(await bench.create(user=("alice", "bob")[number % 2])).id for number in range(10)]
    page = await bench.store.find(user="alice", limit=3)
    equal([head.id for head in page], [ids[8], ids[6], ids[4]], "the ids")
    holds(page.cursor is not None, "no cursor, though there is more")


@group.contract(1)
async def pages_of_a_list_give_each_once(bench: AsyncBench) -> None:
    """Walking by the cursor covers the list without gap or repeat, though new ones come meanwhile."""
    ids = [(await bench.create()).id for _ in range(17)]
    for limit in (1, 4, 17, 18):
        seen: list[int] = []
        cursor: str | None = None
        for _ in range(20):
            page = await bench.store.find(user="alice", limit=limit, cursor=cursor)
            seen += [head.id for head in page if head.id <= ids[-1]]
            cursor = page.cursor
            await bench.create()
            if cursor is None:
                break
        equal(seen, ids[::-1], f"at a limit of {limit}")


@group.contract(2)
async def every_combination_of_conditions_holds(bench: AsyncBench) -> None:
    """Thread, status, label and times select what has them all; ``count`` and ``scan`` agree."""
    made = await _varied(bench)
    middle = bench.clock.now - 5 * HOUR_MS
    conditions: list[dict[str, Any]] = [{}]
    choices: list[tuple[str, list[Any]]] = [
        ("thread", ["t1"]),
        ("status", [["completed", "failed"]]),
        ("label", ["travel"]),
        ("since", [middle]),
        ("until", [middle + 2 * HOUR_MS]),
    ]
    for name, values in choices:
        conditions += [{**one, name: value} for one in conditions for value in values]
    for scope in ("alice", ALL_USERS):
        for wanted in conditions:
            expected = [one["id"] for one in made if _fits(one, scope, wanted)]
            page = await bench.store.find(user=scope, limit=100, **wanted)
            equal([head.id for head in page], expected[::-1], f"find {scope} {wanted}")
            equal(await bench.store.count(user=scope, **wanted), len(expected), f"count {wanted}")
            scanned = [head.id async for head in bench.store.scan(user=scope, **wanted)]
            equal(scanned, expected, f"scan {wanted}")


def _fits(one: dict[str, Any], scope: Any, wanted: dict[str, Any]) -> bool:
    statuses = wanted.get("status", one["status"])
    return (
        scope in (ALL_USERS, one["user"])
        and wanted.get("thread", one["thread"]) == one["thread"]
        and one["status"] in ([statuses] if isinstance(statuses, str) else statuses)
        and wanted.get("label", one["label"]) == one["label"]
        and one["created_at"] >= wanted.get("since", 0)
        and one["created_at"] < wanted.get("until", 2**63)
    )


@group.contract(3)
async def a_walk_keeps_its_conditions(bench: AsyncBench) -> None:
    """Pages by cursor under conditions give each match once."""
    made = await _varied(bench)
    expected = [one["id"] for one in made if one["status"] in ("working", "failed") and one["user"] == "bob"]
    seen: list[int] = []
    cursor: str | None = None
    for _ in range(20):
        page = await bench.store.find(user="bob", status=["working", "failed"], limit=2, cursor=cursor)
        seen += [head.id for head in page]
        cursor = page.cursor
        if cursor is None:
            break
    equal(seen, expected[::-1], "the ids")


@group.contract(4)
async def many_records_come_in_one_call(bench: AsyncBench) -> None:
    """``batch_get`` gives whole records, lowest id first, each once; unknown ids and others' are left out."""
    one = await bench.create(said("one"))
    other = await bench.create(said("other"), user="bob")
    long = await bench.create(*series(60))
    found = await bench.store.batch_get([long.id, one.id, one.id, other.id, 987_654], user="alice")
    equal([record.id for record in found], [one.id, long.id], "the ids")
    same(found[1].messages, series(60), "the long one's messages")
    equal(len(await bench.store.batch_get([one.id, other.id], user=ALL_USERS)), 2, "of all users")
    equal(await bench.store.batch_get([], user="alice"), [], "of no ids")


@group.contract(5)
async def a_fetched_record_can_be_saved(bench: AsyncBench) -> None:
    """What ``batch_get`` gives has its baseline."""
    record = await bench.create(said("a"))
    (found,) = await bench.store.batch_get([record.id], user="alice")
    found.label = "saved"
    equal((await bench.store.save(found)).changed, ("label",), "what the save changed")


@group.contract(6)
async def a_bad_question_is_refused(bench: AsyncBench) -> None:
    """Limits, cursors and ranges that make no sense are ``QueryError``, conditions of wrong kinds typed."""
    find: Any = bench.store.find
    wrong: dict[str, Any]
    for wrong in ({"limit": 0}, {"limit": "5"}, {"cursor": "nonsense"}, {"cursor": 5}, {"since": -1}):
        with refused(QueryError, f"find({wrong})"):
            await find(user="alice", **wrong)
    for wrong in ({"since": 5, "until": 5}, {"until": "2026"}, {"status": []}, {"since": 1.5}):
        with refused(QueryError, f"find({wrong})"):
            await find(user="alice", **wrong)
    for wrong in ({"thread": {"$ne": ""}}, {"label": 5}, {"status": "done"}, {"status": [{"$ne": 1}]}):
        with refused(InvalidRecordError, f"find({wrong})"):
            await find(user="alice", **wrong)
    with refused(QueryError, "1,001 ids"):
        await bench.store.batch_get(list(range(1001)), user="alice")


@group.contract(7)
async def a_list_of_long_conversations_is_light(bench: AsyncBench) -> None:
    """The heads of a list have counts and the newest entry whatever the conversations hold."""
    record = await bench.create(*series(120))
    (head,) = (await bench.store.find(user="alice")).items
    equal(head.message_count, 120, "the count")
    holds(head.last is not None and head.last.id == 119, f"the last entry is {head.last}")
    equal(head, await bench.store.head(record.id), "the head")
