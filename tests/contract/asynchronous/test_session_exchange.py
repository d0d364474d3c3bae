"""Saved sessions imported as conversations with their history, and conversations exported as sessions."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import Any

import pytest
from contract.asynchronous.bench import USER, bench
from contract.asynchronous.test_sessions import everything, line, lines, push, records

from convostore.schemas.errors import ConflictError, InvalidRecordError, NotFoundError, SessionFormatError
from convostore.schemas.session_lines import Retired, SavedValue
from convostore.schemas.transcript import Aside, NewEntry, Transcript, TurnEnd
from convostore.store.asynchronous import sessions
from convostore.store.asynchronous.sessions import (
    AsyncDirectorySessionStore,
    AsyncSession,
    AsyncSessionStore,
    AsyncSessionWriter,
)
from support.transcripts import P, a, call, res, u

IMAGE = {
    "type": "image",
    "data": {"type": "base64", "value": base64.b64encode(b"png").decode()},
    "media_type": "png",
}


def change(value: Transcript, dice: random.Random) -> None:
    """One change of any kind."""
    at = dice.randint(0, len(value))
    stop = min(len(value), at + dice.randint(0, 3))
    kind = dice.randint(0, 9)
    if kind <= 2:
        text = f"{dice.random()} " + "x" * dice.choice((5, 20_000, 70_000))
        value.push(NewEntry(u(text), P if dice.random() < 0.3 else None))
    elif kind == 3:
        value.extend([call("x"), res("x"), {"role": "user", "content": [IMAGE]}])
    elif kind == 4:
        value.halt(dice.choice(("stopped", "kept")))
    elif kind == 5:
        value.add_aside(Aside("note", P, value.id(0), {"n": dice.random()}))
    elif kind == 6:
        value.open_turn()
        value.end_turn(TurnEnd.answered(None))
    elif kind == 7 and stop > at:
        gone = [entry.entry() for entry in value[at:stop]]
        value.splice(slice(at, stop), [u("summary")], by=P)
        value.restore(slice(at, at + 1), gone, by=P)
    elif kind == 8:
        value.splice(slice(at, stop), [*value[at:stop], a("more")])
    else:
        value.dated(1_700_000_000_000 + dice.randint(0, 9), lambda t: t.push(u("dated")))


async def written(store: AsyncSessionStore, seed: int) -> None:
    """A session of two agents, one that is gone, values and files, written by a writer."""
    dice = random.Random(seed)
    ticks = iter(range(1_790_000_000_000, 1_800_000_000_000))
    writer, _ = await AsyncSessionWriter.open(store, clock=lambda: next(ticks))
    writer.start()
    agents = {name: Transcript(clock=lambda: next(ticks)) for name in ("b-main", "a-child")}
    await writer.open_log("b-main")
    await writer.open_log("a-child", "b-main")
    for number in range(40):
        name = dice.choice(list(agents))
        for _ in range(dice.randint(1, 3)):
            change(agents[name], dice)
        await writer.save(name, agents[name])
        if number % 7 == 0:
            await writer.put_value(name, f"key {number % 3}", {"n": number, "big": 2**63 + number})
    await writer.put_value("session", "theme", "dark")
    await writer.retire("a-child")
    await store.write_file("meta.json", b'{"title":"Rivers","updated":1791000000090}')
    await store.write_file("odd.bin", bytes(range(256)))


async def imported(b: Any, store: AsyncSessionStore, **options: Any) -> Any:
    return await b.store.saved_sessions.load(store, user=USER, name="rivers", **options)


def told(value: Transcript) -> dict[str, Any]:
    """All that a log says of a conversation; the store knows besides that its messages are rig's."""
    said = value.to_json()
    for entry in said.get("entries", ()):
        entry.pop("dialect", None)
    return {name: item for name, item in said.items() if not name.startswith("next_")}


async def stored(b: Any) -> dict[str, int]:
    """The conversations by the names of their logs."""
    heads = await b.store.find(user=USER, limit=100)
    return {head.source.id.split("@")[0]: head.id for head in heads if head.source is not None}


@pytest.mark.parametrize("seed", range(4))
async def test_a_round_trip_keeps_every_record(
    replica_set_uri: str, database_name: str, tmp_path: Path, seed: int
) -> None:
    first, second = AsyncDirectorySessionStore(tmp_path / "1"), AsyncDirectorySessionStore(tmp_path / "2")
    await written(first, seed)
    async with bench(replica_set_uri, database_name) as b:
        report = await imported(b, first)
        assert (report.read, report.imported, report.failed, report.notes) == (2, 2, 0, [])
        ids = await stored(b)
        for name, id in ids.items():
            log = await sessions.load(first, name)
            value = await b.store.transcript(id)
            assert told(value) == told(log) and value.revision() == log.revision()
            assert {entry.dialect for entry in value} == {"rig"}
            for stamp, _ in (await sessions.history(first, name))[::9]:
                past = await sessions.as_of(first, name, stamp.n)
                revision = sum(
                    not isinstance(record, SavedValue | Retired) and at.n < stamp.n
                    for at, record in await sessions.history(first, name)
                )
                assert told(await b.store.as_of(id, revision)) == told(past)
        assert (await b.store.check()).findings == []
        done = await b.store.saved_sessions.save(second, sorted(ids.values()), user=USER)
        assert (done.conversations, done.notes) == (2, [])
        assert await everything(second) == await everything(first)
        again = await imported(b, first)
        assert (again.read, again.unchanged) == (2, 2)


async def test_a_session_that_grew_brings_its_new_changes(
    replica_set_uri: str, database_name: str, tmp_path: Path
) -> None:
    first, second = AsyncDirectorySessionStore(tmp_path / "1"), AsyncDirectorySessionStore(tmp_path / "2")
    await written(first, 9)
    async with bench(replica_set_uri, database_name) as b:
        await imported(b, first)
        value = await sessions.load(first, "b-main")
        value.push(u("grown"))
        value.splice(0, [], by=P)
        await sessions.save(first, "b-main", value)
        assert (await imported(b, first, dry_run=True)).updated == 1
        report = await imported(b, first)
        assert (report.updated, report.unchanged) == (1, 1)
        ids = await stored(b)
        assert told(await b.store.transcript(ids["b-main"])) == told(await sessions.load(first, "b-main"))
        await b.store.saved_sessions.save(second, list(ids.values()))
        assert await everything(second) == await everything(first)
        await b.store.append(ids["b-main"], u("here"))
        value.push(u("there"))
        await sessions.save(first, "b-main", value)
        report = await imported(b, first)
        assert (report.skipped, report.unchanged) == (1, 1) and "went on here" in report.problems[0].reason


async def test_what_went_on_in_the_store_is_appended_to_the_session(
    replica_set_uri: str, database_name: str, tmp_path: Path
) -> None:
    store = AsyncDirectorySessionStore(tmp_path / "1")
    await written(store, 5)
    before = await store.read_log("b-main")
    async with bench(replica_set_uri, database_name) as b:
        await imported(b, store)
        ids = await stored(b)
        id = ids["b-main"]
        await b.store.append(id, {"role": "assistant", "content": "as Anda says it"}, usage={"requests": 1})
        await b.store.undo(id)
        await b.store.redo(id)
        report = await b.store.saved_sessions.save(store, list(ids.values()))
        assert sorted(report.notes)[0].startswith("a message was said in rig's words")
        after = await store.read_log("b-main")
        assert after.startswith(before) and len(after) > len(before)
        value, log = await b.store.transcript(id), await sessions.load(store, "b-main")
        assert [entry.id for entry in log] == [entry.id for entry in value]
        assert log.halted() == value.halted() and log[-1].message["content"][0]["text"] == "as Anda says it"
        await b.store.edit(id, value.entries()[0].id, u("edited"))
        await b.store.rewrite(id, lambda message: message)
        with pytest.raises(ConflictError):
            await b.store.saved_sessions.save(store, [id])
        assert await store.read_log("b-main") == after


async def test_any_conversation_can_be_written_as_a_session(
    replica_set_uri: str, database_name: str, tmp_path: Path
) -> None:
    store = AsyncDirectorySessionStore(tmp_path / "1")
    async with bench(replica_set_uri, database_name) as b:
        id = await b.create(u("q"), a("a"))
        other = await b.create({"role": "user", "content": "plain"})
        value = await b.store.transcript(id)
        value.push(u("more"))
        value.halt("kept")
        await b.store.save_transcript(value)
        await b.store.undo(id)
        await b.store.undo(id)
        await b.store.saved_sessions.save(store, [id, other])
        session = await AsyncSession.read(store)
        assert list(session.agents) == [str(id), str(other)]
        assert session.agents[str(id)].conversation == await b.store.transcript(id)
        places = [row["n"] for name in (str(id), str(other)) for row in await lines(store, name)]
        assert places == list(range(len(places)))
        with pytest.raises(NotFoundError):
            await b.store.saved_sessions.save(store, [id], user="bob")
        with pytest.raises(InvalidRecordError):
            await b.store.saved_sessions.save(store, "12")  # type: ignore[arg-type]


async def test_a_session_that_does_not_read_is_refused_whole(
    replica_set_uri: str, database_name: str, tmp_path: Path
) -> None:
    store = AsyncDirectorySessionStore(tmp_path / "1")
    await store.append_log("good", 0, records(push(0), log="good"))
    wrong = line(seq=2, n=2, t=9, type="splice", **{"from": 0, "to": 1, "removed": [9], "with": []})
    bad = {
        "format": records(log="bad").replace(b"rig-session/4", b"rig-session/3"),
        "json": records(push(0), log="bad") + b"nonsense\n",
        "splice": records(push(0), log="bad") + wrong,
        "name": records(push(0), log="other"),
    }
    async with bench(replica_set_uri, database_name) as b:
        before = b.count()
        for reason, data in bad.items():
            await store.append_log("bad", 0, data)
            with pytest.raises(SessionFormatError) as refused:
                await imported(b, store)
            assert refused.value.file == "bad" and refused.value.position in (1, 3), reason
            await store.replace_log("bad", len(data), b"")
            (tmp_path / "1" / "logs" / "bad.jsonl").unlink()
        assert b.count() == before
        torn = b'{"seq":2,"n"'
        await store.append_log("good", len(await store.read_log("good")), torn)
        report = await imported(b, store)
        assert report.imported == 1 and "cut off" in report.notes[0]
        assert (await store.read_log("good")).endswith(torn)


async def test_a_reset_and_odd_ids_come_back(
    replica_set_uri: str, database_name: str, tmp_path: Path
) -> None:
    first, second = AsyncDirectorySessionStore(tmp_path / "1"), AsyncDirectorySessionStore(tmp_path / "2")
    gap = {"type": "push", "entries": [{"message": u("x"), "id": 3}, {"message": a("y"), "id": 7}]}
    state = {
        "entries": [{"message": u("kept"), "id": 3, "made": 5}, {"message": u("new"), "id": 11, "made": 8}],
        "asides": [{"id": 2, "aside": {"kind": "note", "author": {"kind": "rig"}, "value": 1}}],
        "halt": "kept",
        "next_entry": 12,
        "next_aside": 3,
    }
    aside = {"type": "aside", "id": 0, "aside": {"kind": "note", "after": 3, "author": P.to_json()}}
    data = records(
        gap, aside, {"type": "reset", "state": state}, {"type": "halt"}, push(12), {"type": "aside", "id": 2}
    )
    await first.append_log("user-1", 0, data)
    async with bench(replica_set_uri, database_name) as b:
        await imported(b, first)
        (id,) = (await stored(b)).values()
        assert [entry.id for entry in await b.store.transcript(id)] == [3, 11, 12]
        assert [entry.id for entry in await b.store.as_of(id, 2)] == [3, 7]
        await b.store.saved_sessions.save(second, [id])
        written_, read = await lines(second, "user-1"), [json.loads(one) for one in data.splitlines()]
        assert written_ == read
        assert (await b.store.append(id, u("on"))).ids == (13,)


async def test_a_session_in_one_file_is_the_same_as_its_folder(
    replica_set_uri: str, database_name: str, tmp_path: Path
) -> None:
    first, second = AsyncDirectorySessionStore(tmp_path / "1"), AsyncDirectorySessionStore(tmp_path / "2")
    await written(first, 3)
    held = await everything(first)
    sections = [
        b"=== " + path.encode() + b"\n" + data + (b"" if path.startswith("logs/") else b"\n")
        for name, data in held.items()
        for kind, part in [name.split(" ", 1)]
        for path in [
            f"logs/{part}.jsonl" if kind == "log" else part if part.startswith("blobs/") else f"files/{part}"
        ]
    ]
    bundle = b"".join(sections)
    async with bench(replica_set_uri, database_name) as b:
        report = await b.store.import_conversations(bundle, user=USER, file="rivers.txt")
        assert (report.format, report.imported, report.failed) == ("rig-session", 2, 0)
        again = await imported(b, first)
        assert (again.read, again.unchanged) == (2, 2)
        ids = await stored(b)
        await b.store.saved_sessions.save(second, sorted(ids.values()), user=USER)
        assert await everything(second) == held


async def test_a_session_in_one_file_of_the_format_before_is_imported_and_a_bad_one_is_not(
    replica_set_uri: str, database_name: str
) -> None:
    data = records(push(0, "hi"), push(1, "ho")).replace(b"rig-session/4", b"rig-session/3")
    async with bench(replica_set_uri, database_name) as b:
        for bad in (
            b"=== logs/../x.jsonl\n" + data,
            data + b"no JSON\n",
            data.replace(b'"seq":1', b'"seq":5'),
        ):
            with pytest.raises((InvalidRecordError, SessionFormatError)):
                await b.store.import_conversations(bad, user=USER)
        with pytest.raises(InvalidRecordError, match="names no user"):
            await b.store.import_conversations(data)
        assert await stored(b) == {}
        report = await b.store.import_conversations(data + b'{"seq":3', user=USER)
        assert (report.imported, report.messages) == (1, 2)
        assert any("cut off" in note for note in report.notes) and any("/3" in note for note in report.notes)
        (id,) = (await stored(b)).values()
        assert [entry.made for entry in await b.store.transcript(id)] == [6, 7]
