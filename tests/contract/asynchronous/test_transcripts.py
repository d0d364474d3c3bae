"""Transcripts on a real server: loaded, saved by one of many, halted, forked, rewritten, exported whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from contract.asynchronous.bench import USER, Bench, bench

from convostore.schemas.authors import Author
from convostore.schemas.errors import (
    ConflictError,
    InvalidRecordError,
    MismatchError,
    NotFoundError,
    PairingError,
    TooLargeError,
)
from convostore.schemas.pairing import validate
from convostore.schemas.transcript import (
    Aside,
    NewEntry,
    Transcript,
    TurnEnd,
)
from convostore.store.conformance.asynchronous._together import together
from support.scale import scaled
from support.transcripts import a, call, res, u

COMPACT = Author.plugin("compact")


async def test_a_transcript_is_loaded_as_it_was_saved(replica_set_uri: str, database_name: str) -> None:
    async with bench(replica_set_uri, database_name) as b:
        value = Transcript(clock=b.clock)
        value.push(NewEntry(u("a"), COMPACT))
        value.extend([a(f"{number}") for number in range(12)])
        value.dated(5, lambda t: t.push(u("dated")))
        value.splice(slice(2, 4), [u("x" * 100_000)], by=COMPACT)
        value.add_aside(Aside("note", COMPACT, 0, {"text": "y" * 40_000}))
        value.halt("stopped")
        id = await b.create()
        saved = await b.store.save_transcript(value, id)
        assert value.unsaved() == [] and saved.changed == ("messages",)
        stored = await b.store.transcript(id)
        assert stored.to_json() == value.to_json()
        assert (stored.lineage(), stored.revision()) == (value.lineage(), value.revision())
        assert (await b.store.get(id)).messages == value.messages()
        b.log.clear()
        assert (await b.store.save_transcript(value)).changed == ()
        assert set(b.log.names) == {"find"}


async def test_an_appended_message_is_seen_by_the_record_and_by_the_transcript(
    replica_set_uri: str, database_name: str
) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(u("a"))
        value = await b.store.transcript(id)
        value.push(a("b"))
        await b.store.save_transcript(value)
        await b.store.append(id, u("c"))
        assert (await b.store.transcript(id)).messages() == (await b.store.get(id)).messages
        assert len((await b.store.get(id)).messages) == 3


async def test_the_second_of_two_that_loaded_the_same_log_is_refused(
    replica_set_uri: str, database_name: str
) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(u("a"))
        one, two = await b.store.transcript(id), await b.store.transcript(id)
        one.push(a("one"))
        two.push(a("two"))
        await b.store.save_transcript(one)
        before = b.count()
        with pytest.raises(ConflictError) as refused:
            await b.store.save_transcript(two)
        assert (refused.value.expected, refused.value.actual) == (1, 2)
        assert b.count() == before and b.holding("two") == []
        assert len(two.unsaved()) == 1


async def test_what_continues_no_log_is_refused(replica_set_uri: str, database_name: str) -> None:
    async with bench(replica_set_uri, database_name) as b:
        first, second = await b.create(u("a")), await b.create(u("b"))
        loaded = await b.store.transcript(first)
        detached = Transcript.from_json(loaded.to_json())
        detached.push(a("x"))
        begun = Transcript([u("elsewhere")])
        for value in (detached, begun):
            with pytest.raises(ConflictError):
                await b.store.save_transcript(value, first)
        with pytest.raises(InvalidRecordError):
            await b.store.save_transcript(begun)
        loaded.push(a("y"))
        with pytest.raises(ConflictError):
            await b.store.save_transcript(loaded, second)
        assert [len(await b.store.transcript(id)) for id in (first, second)] == [1, 1]


async def test_of_many_writers_one_wins_each_round(replica_set_uri: str, database_name: str) -> None:
    rounds, writers = scaled(50, at_least=1), 8
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(u("start"))
        won = []
        for number in range(rounds):
            values = [await b.store.transcript(id) for _ in range(writers)]
            for writer, value in enumerate(values):
                token = f"round {number} writer {writer} "
                value.push(u(token + "z" * (80_000 if writer % 2 else 10)))
                value.add_aside(Aside("note", COMPACT, None, token + "y" * 20_000))
                value.splice(0, [u(token)], by=COMPACT)
            outcomes = await together([_saving(b, value) for value in values])
            winners = [
                writer for writer, outcome in enumerate(outcomes) if not isinstance(outcome, Exception)
            ]
            assert len(winners) == 1, outcomes
            assert all(isinstance(one, ConflictError) for one in outcomes if isinstance(one, Exception))
            won += winners
            for writer in set(range(writers)) - set(winners):
                assert b.holding(f"round {number} writer {writer} ") == []
            assert (await b.store.transcript(id)) == values[winners[0]]
        assert (await b.store.head(id)).revision == 1 + 3 * rounds == 1 + 3 * len(won)
        assert (await b.store.check()).findings == []


def _saving(b: Bench, value: Transcript) -> Callable[[], Any]:
    async def save() -> Any:
        return await b.another().save_transcript(value)

    return save


async def test_what_follows_a_stopped_turn_stands_behind_the_entry_that_says_so(
    replica_set_uri: str, database_name: str
) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(u("do it"))
        value = await b.store.transcript(id)
        assert value.halt("stopped")
        await b.store.save_transcript(value)
        done = await b.store.append(id, u("something else"), key="k")
        again = await b.store.append(id, u("something else"), key="k")
        assert done.ids == again.ids == (2,) and again.replayed and not done.replayed
        value = await b.store.transcript(id)
        assert [entry.is_stop_marker() for entry in value] == [False, True, False]
        assert value.halted() is None
        assert (await b.store.as_of(id, 2)).halted() == "stopped"
        with pytest.raises(ConflictError):
            await b.store.append(id, u("other content"), key="k")


async def test_messages_under_keys_of_their_own_follow_a_stopped_turn_once(
    replica_set_uri: str, database_name: str
) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(u("do it"))
        value = await b.store.transcript(id)
        value.halt("stopped")
        await b.store.save_transcript(value)
        first = await b.store.append(id, [u("x"), u("y")], keys=["x", "y"])
        second = await b.store.append(id, [u("y"), u("z")], keys=["y", "z"])
        assert first.ids == (2, 3) and second.ids == (3, 4)
        assert [entry.is_stop_marker() for entry in await b.store.transcript(id)].count(True) == 1


@pytest.mark.parametrize("edited", ["edit", "save"])
async def test_a_halt_is_cleared_by_an_edit_that_reaches_the_end_and_by_no_other(
    replica_set_uri: str, database_name: str, edited: str
) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(*[u(f"{n}") for n in range(12)])
        value = await b.store.transcript(id)
        value.halt("kept")
        await b.store.save_transcript(value)
        for at, halted in ((1, "kept"), (11, None)):
            if edited == "edit":
                await b.store.edit(id, at, u("changed"))
            else:
                record = await b.store.get(id)
                record.messages[at] = u("changed")
                await b.store.save(record)
            assert (await b.store.transcript(id)).halted() == halted
        assert (await b.store.as_of(id, 3)).halted() == "kept"
        await b.store.undo(id)
        assert (await b.store.transcript(id)).halted() == "kept"


async def test_a_turn_lives_in_the_store(replica_set_uri: str, database_name: str) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create()
        value = await b.store.transcript(id)
        value.push(u("q"))
        value.open_turn()
        value.extend([call("x"), res("x")])
        answer = value.push(a("a"))
        value.end_turn(TurnEnd.answered(answer))
        await b.store.save_transcript(value)
        stored = await b.store.transcript(id)
        assert [(record.index, record.end.answer) for _, record in stored.turns() if record.end] == [(0, 3)]
        for revision, ended in ((2, False), (5, True)):
            past = await b.store.as_of(id, revision)
            assert [record.end is not None for _, record in past.turns()] == [ended]


async def test_a_change_that_does_not_fit_is_refused_and_nothing_is_written(
    replica_set_uri: str, database_name: str
) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(u("a"))
        value = await b.store.transcript(id)
        with pytest.raises(MismatchError):
            value.apply({"type": "splice", "from": 0, "to": 1, "removed": [9], "with": []})
        for wrong in ({"type": "splice", "from": 0}, {"type": "push", "entries": [{"id": 1}]}, {"type": "x"}):
            with pytest.raises(InvalidRecordError):
                value.apply(wrong)
        assert value.unsaved() == [] and len(value) == 1
        large = Aside("note", COMPACT, 0, "x" * 600_000)
        value.add_aside(large)
        before = b.count()
        with pytest.raises(TooLargeError):
            await b.store.save_transcript(value)
        with pytest.raises(InvalidRecordError):
            await b.store.save_transcript([u("a")])  # type: ignore[arg-type]
        assert b.count() == before and (await b.store.head(id)).revision == 1


async def test_a_model_is_given_paired_messages_in_the_dialect_it_speaks(
    replica_set_uri: str, database_name: str
) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(u("q"), call("x", "y"), res("y"), u("and?"))
        await b.store.append(id, a("half an answer"), unfinished=True)
        for dialect in (None, "rig", "openai", "anda"):
            page = await b.store.messages(id, for_model=True, dialect=dialect)
            messages = [entry.message for entry in page]
            validate(messages)
            assert "half an answer" not in json.dumps(messages)
        chat = await b.store.messages(id, for_model=True, dialect="openai")
        assert [entry.message["role"] for entry in chat][:4] == ["user", "assistant", "tool", "tool"]
        said = await b.store.messages(id, dialect="openai")
        assert [entry.id for entry in said] == [0, 1, 2, 3, 4] and said.items[2].message["role"] == "tool"
        with pytest.raises(PairingError):
            validate([entry.message for entry in said])
        with pytest.raises(InvalidRecordError):
            await b.store.messages(id, dialect="klingon")


# Forks


async def _told_story(b: Bench) -> int:
    """A conversation of three turns, edited, with asides, blobs and a caller's keys."""
    id = await b.create(u("q0"), a("a0"))
    await b.store.append(id, u("q1"), key="turn 1")
    value = await b.store.transcript(id)
    value.open_turn()
    value.extend([call("x"), res("x")])
    answer = value.push(a("a1" + "z" * 70_000))
    value.end_turn(TurnEnd.answered(answer))
    value.add_aside(Aside.note("t", "x", author=COMPACT, after=answer))
    await b.store.save_transcript(value)
    await b.store.edit(id, 1, a("a0, better"), author=COMPACT)
    await b.store.append(id, [u("q2"), a("a2"), u("q3")], usage={"input_tokens": 3})
    return id


async def test_a_fork_ends_at_the_last_turn_that_had_ended(replica_set_uri: str, database_name: str) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await _told_story(b)
        for at, kept in ((0, 0), (1, 2), (2, 2), (3, 2), (5, 6), (6, 6), (7, 8), (8, 8), (None, 9)):
            fork = await b.store.fork(id, at)
            value = await b.store.transcript(fork.id)
            assert [entry.id for entry in value] == list(range(kept)), at
            ended = [turn for _, turn in value.turns() if turn.end is not None]
            assert len(ended) == (kept >= 6) and len(value.asides()) == 2 * (kept >= 6)
            assert fork.usage.input_tokens == 0 and fork.status == "completed"
        assert (await b.store.check()).findings == []
        with pytest.raises(NotFoundError):
            await b.store.fork(id, 77)


async def test_an_exact_fork_ends_with_any_entry_and_keeps_its_past(
    replica_set_uri: str, database_name: str
) -> None:
    async with bench(replica_set_uri, database_name) as b:
        messages = [u(f"{n}") if n % 2 == 0 else a(f"{n}") for n in range(14)]
        chat = [{"role": m["role"], "content": m["content"][0]["text"]} for m in messages]
        line = json.dumps({"messages": chat}).encode()
        report = await b.store.import_conversations(line, format="openai", user=USER)
        assert report.imported == 1
        (head,) = await b.store.find(user=USER)
        await b.store.append(head.id, [u("14"), a("15")])
        whole = await b.store.transcript(head.id)
        for at in range(16):
            fork = await b.store.fork(head.id, at, exact=True)
            value = await b.store.transcript(fork.id)
            assert value.entries() == whole[: at + 1]
            assert [entry.made for entry in value] == [entry.made for entry in whole[: at + 1]]
            assert len(await b.store.as_of(fork.id, 1)) == min(at + 1, 14)
            assert await b.store.append(fork.id, u("on")) and len(await b.store.transcript(fork.id)) == at + 2
        assert (await b.store.check()).findings == []


async def test_a_fork_shares_nothing_with_its_source(replica_set_uri: str, database_name: str) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await _told_story(b)
        source = await b.store.transcript(id)
        pasts = [(await b.store.as_of(id, n)).to_json() for n in range(source.revision() + 1)]
        fork = await b.store.fork(id)
        assert (await b.store.transcript(fork.id)).to_json() == source.to_json()
        await b.store.delete(id)
        copy = await b.store.transcript(fork.id)
        assert copy.to_json() == source.to_json() and copy.lineage() != source.lineage()
        assert [(await b.store.as_of(fork.id, n)).to_json() for n in range(copy.revision() + 1)] == pasts
        head = b.plain.conversations.find_one({"_id": fork.id})
        assert head["forked_from"]["id"] == id and head["forked_from"]["entries"] == 9
        assert (await b.store.check()).findings == []
        await b.store.undo(fork.id)
        assert len(await b.store.transcript(fork.id)) == 6


async def test_a_key_that_was_used_in_the_source_is_new_in_the_fork(
    replica_set_uri: str, database_name: str
) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await _told_story(b)
        fork = await b.store.fork(id, 5)
        done = await b.store.append(fork.id, u("q1"), key="turn 1")
        assert not done.replayed and done.ids == (6,)


async def test_a_halt_goes_along_with_a_whole_fork_only(replica_set_uri: str, database_name: str) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(u("q"), a("a"), u("more"))
        value = await b.store.transcript(id)
        value.halt("kept")
        await b.store.save_transcript(value)
        assert (await b.store.transcript((await b.store.fork(id)).id)).halted() == "kept"
        assert (await b.store.transcript((await b.store.fork(id, 1)).id)).halted() is None


# Rewriting

SECRET = "hunter2-the-secret"


def without_secret(value: Any) -> Any:
    return json.loads(json.dumps(value).replace(SECRET, "***"))


async def test_a_rewritten_secret_is_in_no_collection_any_more(
    replica_set_uri: str, database_name: str
) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(u(SECRET), *[a(f"{n}") for n in range(9)], u(SECRET + "x" * 200_000))
        await b.store.edit(id, 0, u("no more"))
        value = await b.store.transcript(id)
        note = value.add_aside(Aside.note("t", SECRET, author=COMPACT))
        value.splice(slice(2, 5), [u(SECRET), u("y" * 30_000 + SECRET)], by=COMPACT)
        value.splice(slice(2, 4), [], by=COMPACT)
        value.replace_aside(note, Aside.note("t", SECRET + "z" * 30_000, author=COMPACT))
        await b.store.save_transcript(value)
        await b.store.append(id, u("keyed"), key="k")
        other = await b.create(u("an innocent neighbour"))
        fork = await b.store.fork(id)
        loaded = await b.store.transcript(id)
        loaded.push(u(SECRET))
        assert len(b.holding(SECRET)) > 3
        pasts = [(await b.store.as_of(id, n)).messages() for n in range(loaded.revision())]
        done = await b.store.rewrite(id, without_secret)
        assert done.forks == (fork.id,) and done.changed
        assert (await b.store.rewrite(fork.id, without_secret)).changed
        assert b.holding(SECRET) == []
        with pytest.raises(ConflictError):
            await b.store.save_transcript(loaded)
        assert b.holding(SECRET) == []
        after = [(await b.store.as_of(id, n)).messages() for n in range(len(pasts))]
        assert after == without_secret(pasts)
        assert (await b.store.append(id, u("keyed"), key="k")).replayed
        assert (await b.store.transcript(other)).messages() == [u("an innocent neighbour")]
        assert (await b.store.check()).findings == []


async def test_a_rewriter_that_gives_no_json_changes_nothing(
    replica_set_uri: str, database_name: str
) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(u("a"))
        before = (await b.store.transcript(id)).lineage()
        with pytest.raises(InvalidRecordError):
            await b.store.rewrite(id, lambda value: {1, 2})  # type: ignore[arg-type, return-value]
        assert (await b.store.transcript(id)).lineage() == before
        assert (await b.store.check()).findings == []


# Export and import


async def test_everything_about_a_transcript_travels_in_the_canonical_format(
    replica_set_uri: str, database_name: str
) -> None:
    async with bench(replica_set_uri, database_name) as b:
        id = await _told_story(b)
        value = await b.store.transcript(id)
        for number in range(5):
            value.add_aside(Aside("note", COMPACT, 0, {"n": number, "x": "y" * 9_000}))
        value.splice(slice(3, 6), [], by=COMPACT)
        value.halt("stopped")
        await b.store.save_transcript(value)
        await b.store.undo(id)
        await b.store.redo(id)
        fork = await b.store.fork(id, 2)
        assert "asides_body" in b.plain.conversations.find_one({"_id": id})
        revisions = value.revision() + 2
        pasts = [(await b.store.as_of(id, n)).to_json() for n in range(revisions + 1)]
        first = await _exported(b)
        for stored in (id, fork.id):
            await b.store.delete(stored)
        report = await b.store.import_conversations(first)
        assert (report.imported, report.failed, report.error) == (2, 0, None)
        assert await _exported(b) == first
        assert [(await b.store.as_of(id, n)).to_json() for n in range(revisions + 1)] == pasts
        assert (await b.store.transcript(id)).halted() == "stopped"
        assert "asides_body" in b.plain.conversations.find_one({"_id": id})
        assert b.plain.conversations.find_one({"_id": fork.id})["forked_from"]["id"] == id
        assert (await b.store.check()).findings == []
        await b.store.undo(id)
        assert (await b.store.transcript(id)).to_json()["entries"] == pasts[revisions - 1]["entries"]


async def _exported(b: Bench) -> bytes:
    pieces: list[bytes] = []
    await b.store.export_conversations(pieces.append, user=USER)
    return b"".join(pieces)
