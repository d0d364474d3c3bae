"""A conversation's past on a real server: every revision comes back, undo and redo, what it costs."""

from __future__ import annotations

import random
from typing import Any

import bson
import pytest
from contract.asynchronous.bench import BOUNDS, bench
from contract.asynchronous.chronicle import Chronicle

from convostore.schemas.authors import Author
from convostore.schemas.errors import ConflictError, QueryError
from convostore.schemas.transcript import Aside, Transcript
from convostore.store.layout import Bounds
from support.scale import scaled
from support.transcripts import a, u

COMPACT = Author.plugin("compact")


def told(value: Transcript) -> dict[str, Any]:
    """All that a past value must say; which id the next aside gets is not known of the past."""
    return {name: item for name, item in value.to_json().items() if name != "next_aside"}


@pytest.mark.parametrize("seed", range(4))
async def test_every_revision_is_what_it_was_when_it_was_current(
    replica_set_uri: str, database_name: str, seed: int
) -> None:
    async with bench(replica_set_uri, database_name) as b:
        messages = [{"role": "user", "content": "hi"}] * (seed % 2)
        chronicle = Chronicle(b, await b.create(*messages), random.Random(seed))
        await chronicle.begin()
        for _ in range(45):
            await chronicle.step()
        id, last = chronicle.id, max(chronicle.values)
        for revision, value in chronicle.values.items():
            value.pop("next_aside", None)
            assert told(await b.store.as_of(id, revision)) == value, f"revision {revision} of {last}"
        for time, revision in list(chronicle.times.items())[::5]:
            past = await b.store.as_of(id, at=time)
            assert past.revision() == revision and told(past) == chronicle.values[revision]
        assert [one.number for one in await b.store.history(id)] == list(range(1, last + 1))
        assert (await b.store.transcript(id)).revision() == last
        assert (await b.store.check()).findings == []
        for work in ("undo", "redo", "edit", "save", "save_transcript", "append"):
            assert chronicle.done.get(work), chronicle.done


async def test_as_of_reaches_every_part_of_a_long_history(replica_set_uri: str, database_name: str) -> None:
    changes, dice = scaled(10_000, at_least=150), random.Random(7)
    async with bench(replica_set_uri, database_name, Bounds()) as b:
        id = await b.create()
        value = await b.store.transcript(id)
        values = {0: value.to_json()}
        while value.revision() < changes:
            for _ in range(min(100, changes - value.revision())):
                if len(value) > 200 or (len(value) > 5 and dice.random() < 0.3):
                    at = dice.randrange(len(value) - 3)
                    value.splice(slice(at, at + dice.randint(1, 3)), [u(f"s{value.revision()}")], by=COMPACT)
                else:
                    value.push(u(f"p{value.revision()}"))
                values[value.revision()] = value.to_json()
            await b.store.save_transcript(value)
        wanted = {0, 1, changes // 2, changes - 1, changes, *dice.sample(range(changes), 15)}
        for revision in wanted:
            assert (await b.store.as_of(id, revision)).to_json() == values[revision], revision
        assert (await b.store.check()).findings == []


async def test_what_was_done_can_be_undone_and_done_again(replica_set_uri: str, database_name: str) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(u("a"))
        states = [(await b.store.transcript(id)).to_json()]

        async def noted() -> None:
            states.append((await b.store.transcript(id)).to_json())

        await b.store.append(id, a("b"))
        await noted()
        await b.store.edit(id, 0, u("c"))
        await noted()
        value = await b.store.transcript(id)
        value.add_aside(Aside.note("t", "x", author=COMPACT, after=1))
        await b.store.save_transcript(value)
        await noted()
        value.push(u("d"))
        value.halt("stopped")
        await b.store.save_transcript(value)
        await b.store.undo(id)
        assert (await b.store.transcript(id)).halted() is None
        await b.store.redo(id)
        await noted()
        for _ in range(5):
            await b.store.undo(id)
        assert [len(state["entries"]) for state in states] == [1, 2, 2, 2, 3]
        first = (await b.store.transcript(id)).to_json()
        assert first["entries"] == states[0]["entries"] and "asides" not in first
        for _ in range(5):
            await b.store.redo(id)
        last = await b.store.transcript(id)
        assert last.to_json() == states[-1]
        kinds = [(one.undoes, one.redoes) for one in (await b.store.history(id))[-10:]]
        assert [undone for undone, _ in kinds[:5]] == [6, 5, 4, 3, 2] and all(done for _, done in kinds[5:])
        with pytest.raises(QueryError):
            await b.store.redo(id)


async def test_nothing_is_redone_after_another_change(replica_set_uri: str, database_name: str) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(u("a"))
        await b.store.append(id, a("b"))
        await b.store.undo(id)
        await b.store.append(id, a("c"))
        with pytest.raises(QueryError):
            await b.store.redo(id)
        assert [entry.id for entry in (await b.store.transcript(id)).entries()] == [0, 2]


async def test_there_is_an_end_to_undoing(replica_set_uri: str, database_name: str) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create()
        with pytest.raises(QueryError):
            await b.store.undo(id)
        await b.store.append(id, usage={"requests": 1})
        with pytest.raises(QueryError):
            await b.store.undo(id)


async def test_an_undo_takes_as_many_round_trips_however_long_the_conversation_is(
    replica_set_uri: str, database_name: str
) -> None:
    async with bench(replica_set_uri, database_name, Bounds()) as b:
        taken = {}
        for length in (300, 3000):
            id = await b.create()
            for start in range(0, length, 150):
                await b.store.append(id, [u(f"{number}") for number in range(start, start + 150)])
            await b.store.append(id, u("last"))
            await b.store.append(id, u("oops"))
            b.log.clear()
            await b.store.undo(id)
            taken[length] = b.log.round_trips
            assert (await b.store.head(id)).message_count == length + 1
        assert taken[300] == taken[3000] <= 6, taken


async def test_an_append_takes_one_round_trip_and_little_room_for_its_history(
    replica_set_uri: str, database_name: str
) -> None:
    async with bench(replica_set_uri, database_name, Bounds()) as b:
        id = await b.create()
        for number in range(200):
            b.log.clear()
            await b.store.append(id, u(f"message {number}"))
            if number < 60:
                assert b.log.names == ["findAndModify"]
        head = b.plain.conversations.find_one({"_id": id}, {"log": 1, "_id": 0})
        sealed = b.plain.changes.find({"c": id})
        size = len(bson.encode(head)) + sum(len(bson.encode(one)) for one in sealed)
        assert size / 200 <= 120, size / 200


async def test_history_says_what_when_and_by_whom(replica_set_uri: str, database_name: str) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(u("a"))
        b.clock.now += 10
        await b.store.append(id, [a("b"), u("c")], author=COMPACT, usage={"input_tokens": 7})
        b.clock.now += 10
        await b.store.append(id, usage={"requests": 1})
        value = await b.store.transcript(id)
        value.splice(slice(0, 2), [u("summary")], by=COMPACT)
        value.halt()
        await b.store.save_transcript(value)
        pushed, more, usage, splice, halt = await b.store.history(id)
        assert (pushed.kind, pushed.added, pushed.number) == ("push", (0,), 1)
        assert (more.kind, more.added, more.by) == ("push", (1, 2), COMPACT)
        assert more.at == pushed.at + 10 and more.usage == {"input_tokens": 7}
        assert (usage.kind, usage.usage) == ("usage", {"requests": 1})
        assert (splice.kind, splice.start, splice.removed, splice.added) == ("splice", 0, (0, 1), (3,))
        assert splice.by == COMPACT and (halt.kind, halt.by) == ("halt", None)


async def test_a_revision_or_time_that_never_was_is_refused(replica_set_uri: str, database_name: str) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(u("a"))
        for asked in ({"revision": 9}, {}, {"revision": 1, "at": 1}):
            with pytest.raises(QueryError):
                await b.store.as_of(id, **asked)
        assert len(await b.store.as_of(id, at=1)) == 0
        past = await b.store.as_of(id, 1)
        past.push(u("b"))
        with pytest.raises(ConflictError):
            await b.store.save_transcript(past, id)


async def test_an_edit_leaves_what_was_there_in_history(replica_set_uri: str, database_name: str) -> None:
    async with bench(replica_set_uri, database_name, BOUNDS) as b:
        id = await b.create(*[u(f"{number}") for number in range(20)])
        large = u("x" * 200_000)
        await b.store.edit(id, 2, large)
        await b.store.edit(id, 2, u("small"))
        record = await b.store.get(id)
        del record.messages[2:9]
        await b.store.save(record)
        assert (await b.store.as_of(id, 2)).messages()[2] == large
        assert (await b.store.as_of(id, 3)).messages()[2] == u("small")
        assert len(await b.store.as_of(id, 1)) == 20 and len(await b.store.transcript(id)) == 13


async def test_a_check_finds_what_is_missing_of_the_past(replica_set_uri: str, database_name: str) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(u("x" * 30_000), u("y" * 100_000), u("z"))
        value = await b.store.transcript(id)
        value.splice(slice(0, 2), [])
        value.add_aside(Aside("note", COMPACT, None, "x" * 30_000))
        await b.store.save_transcript(value)
        assert (await b.store.check()).findings == []
        removed = [one["_id"] for one in b.plain.bodies.find()]
        assert len(removed) == 2
        b.plain.blobs.delete_many({})
        assert [one.kind for one in (await b.store.check()).findings] == ["blob_missing"]
        b.plain.bodies.delete_many({})
        found = (await b.store.check()).findings
        assert [(one.kind, one.severity) for one in found] == [("body_missing", "broken")] * 2
