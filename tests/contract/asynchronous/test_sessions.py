"""Saved sessions in a folder and in MongoDB: T126 to T154 of spec/rig.md, and what is refused."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pymongo import AsyncMongoClient

from convostore.schemas.authors import Author
from convostore.schemas.errors import ConflictError, InvalidRecordError, NotFoundError, SessionFormatError
from convostore.schemas.session_lines import Retired, SavedValue
from convostore.schemas.transcript import Aside, Transcript, TurnEnd
from convostore.store.asynchronous import sessions
from convostore.store.asynchronous.sessions import (
    AsyncDirectorySessionStore,
    AsyncMongoSessionStore,
    AsyncSession,
    AsyncSessionStore,
    AsyncSessionWriter,
)
from convostore.store.conformance.asynchronous.sessions import check_session_store
from support.shared import shared
from support.transcripts import P, a, call, ids, res, u

LOG = "user-1"
HEADER = {"seq": 0, "n": 0, "t": 5, "type": "header", "format": "rig-session/4", "log": LOG, "lineage": 77}


@pytest.fixture(params=["directory", "mongodb"])
async def handles(
    request: pytest.FixtureRequest, tmp_path: Path, replica_set_uri: str, database_name: str
) -> AsyncIterator[tuple[AsyncSessionStore, AsyncSessionStore]]:
    """Two handles to one empty storage."""
    if request.param == "directory":
        yield AsyncDirectorySessionStore(tmp_path / "s"), AsyncDirectorySessionStore(tmp_path / "s")
        return
    async with AsyncMongoClient[dict[str, Any]](replica_set_uri) as client:
        one, two = (AsyncMongoSessionStore(client[database_name], "s", user="alice") for _ in range(2))
        await one.setup()
        yield one, two


@pytest.fixture
def store(handles: tuple[AsyncSessionStore, AsyncSessionStore]) -> AsyncSessionStore:
    """An empty session."""
    return handles[0]


def line(**members: Any) -> bytes:
    return json.dumps(members, separators=(",", ":")).encode() + b"\n"


def records(*bodies: dict[str, Any], log: str = LOG) -> bytes:
    """A log with a header and records of these bodies."""
    lines = [line(**{**HEADER, "log": log})]
    lines += [line(seq=n, n=n, t=5 + n, **body) for n, body in enumerate(bodies, 1)]
    return b"".join(lines)


def push(id: int, text: str = "x") -> dict[str, Any]:
    return {"type": "push", "entries": [{"message": u(text), "id": id}]}


async def saved(store: AsyncSessionStore, *messages: Any, log: str = LOG) -> Transcript:
    value = await sessions.load(store, log)
    value.extend(messages)
    await sessions.save(store, log, value)
    return value


async def lines(store: AsyncSessionStore, log: str = LOG) -> list[dict[str, Any]]:
    return [json.loads(one) for one in (await store.read_log(log)).splitlines()]


async def everything(store: AsyncSessionStore) -> dict[str, bytes]:
    held = {f"log {name}": await store.read_log(name) for name in await store.logs()}
    return held | {f"file {name}": await store.read_file(name) for name in await store.files()}


async def test_the_store_keeps_its_contract(handles: tuple[AsyncSessionStore, AsyncSessionStore]) -> None:
    report = await check_session_store(*handles)
    assert report and len(list(report)) == 8, report.violations


async def test_a_storage_that_is_not_empty_is_not_checked(
    handles: tuple[AsyncSessionStore, AsyncSessionStore],
) -> None:
    await handles[0].append_log("a", 0, b"x")
    with pytest.raises(ValueError, match="empty"):
        await check_session_store(*handles)
    assert await handles[0].read_log("a") == b"x"


async def test_t126_an_empty_store_gives_an_empty_conversation(store: AsyncSessionStore) -> None:
    value = await sessions.load(store, LOG)
    assert len(value) == 0 and value.revision() == 0


async def test_t127_what_is_saved_is_loaded(store: AsyncSessionStore) -> None:
    value = await sessions.load(store, LOG)
    value.push(u("hi"))
    await sessions.save(store, LOG, value)
    assert value.unsaved() == []
    assert await sessions.load(store, LOG) == value


async def test_t128_a_fresh_log_begins_with_its_header(store: AsyncSessionStore) -> None:
    await saved(store, u())
    first = (await lines(store))[0]
    assert list(first) == ["seq", "n", "t", "type", "format", "log", "lineage"]
    assert (first["seq"], first["type"], first["format"]) == (0, "header", "rig-session/4")
    assert first["log"] == LOG and first["lineage"] not in (0, 2**64 - 1)


async def test_t129_a_push_is_a_line_with_messages_and_ids(store: AsyncSessionStore) -> None:
    await saved(store, u("hi"))
    second = (await lines(store))[1]
    assert (second["seq"], second["type"]) == (1, "push")
    assert second["entries"] == [{"message": u("hi"), "id": 0}]


async def test_t130_the_second_of_two_is_refused(store: AsyncSessionStore) -> None:
    await saved(store, u("first"))
    one, two = await sessions.load(store, LOG), await sessions.load(store, LOG)
    one.push(a("one"))
    two.push(a("two"))
    await sessions.save(store, LOG, one)
    before = await everything(store)
    with pytest.raises(ConflictError):
        await sessions.save(store, LOG, two)
    assert await everything(store) == before and len(two.unsaved()) == 1
    assert await sessions.load(store, LOG) == one


async def test_t131_a_conversation_built_elsewhere_is_written_whole_onto_an_empty_log(
    store: AsyncSessionStore,
) -> None:
    built = Transcript.from_json(Transcript([u("a"), a("b")]).to_json())
    await store.append_log(LOG, 0, line(**HEADER))
    await sessions.save(store, LOG, built)
    assert [one["type"] for one in await lines(store)] == ["header", "reset"]
    assert await sessions.load(store, LOG) == built
    assert (built.lineage(), built.revision()) == (77, 1)


async def test_t132_a_conversation_built_elsewhere_is_refused_by_a_log_with_changes(
    store: AsyncSessionStore,
) -> None:
    await saved(store, u("a"))
    before = await everything(store)
    with pytest.raises(ConflictError):
        await sessions.save(store, LOG, Transcript.from_json(Transcript([u("b")]).to_json()))
    assert await everything(store) == before


async def test_t133_a_conversation_of_one_log_is_refused_by_another(store: AsyncSessionStore) -> None:
    value = await saved(store, u("a"), log="one")
    await saved(store, u("b"), log="two")
    value.push(a("c"))
    with pytest.raises(ConflictError):
        await sessions.save(store, "two", value)


TORN = b'{"seq":2,"n":2,"t":7,"ty'


async def test_t134_a_torn_last_line_is_set_aside_by_a_save(store: AsyncSessionStore) -> None:
    await store.append_log(LOG, 0, records(push(0)) + TORN)
    value = await sessions.load(store, LOG)
    value.push(a("b"))
    await sessions.save(store, LOG, value)
    name = f"recovered/{LOG}-{hashlib.sha256(TORN).hexdigest()}.part"
    assert await store.read_file(name) == TORN
    assert [one["seq"] for one in await lines(store)] == [0, 1, 2]
    assert await sessions.load(store, LOG) == value


async def test_t135_a_torn_last_line_is_reported_by_a_read_which_writes_nothing(
    store: AsyncSessionStore,
) -> None:
    await store.append_log(LOG, 0, records(push(0)) + TORN)
    before = await everything(store)
    session = await AsyncSession.read(store)
    assert session.torn == {LOG: TORN} and len(session.agents[LOG].conversation) == 1
    assert await everything(store) == before


async def test_t136_another_format_is_named_and_nothing_written(store: AsyncSessionStore) -> None:
    await store.append_log(LOG, 0, line(**{**HEADER, "format": "rig-session/3"}) + TORN)
    before = await everything(store)
    for call_ in (
        lambda: sessions.load(store, LOG),
        lambda: sessions.save(store, LOG, Transcript([u()])),
        lambda: AsyncSessionWriter.open(store),
    ):
        with pytest.raises(SessionFormatError, match=r"rig-session/3") as refused:
            await call_()
        assert (refused.value.file, refused.value.position) == (LOG, 1)
    assert await everything(store) == before


async def test_t137_a_line_that_is_no_json_is_named_by_its_number(store: AsyncSessionStore) -> None:
    await store.append_log(LOG, 0, records(push(0)) + b"nonsense\n" + line(seq=3, n=3, t=9, **push(1)))
    with pytest.raises(SessionFormatError) as refused:
        await sessions.load(store, LOG)
    assert (refused.value.file, refused.value.position) == (LOG, 3) and refused.value.reason


async def test_t138_a_splice_that_does_not_apply_is_found_by_load_not_by_save(
    store: AsyncSessionStore,
) -> None:
    value = await saved(store, u("a"))
    wrong = line(seq=2, n=2, t=9, type="splice", **{"from": 0, "to": 1, "removed": [9], "with": []})
    await store.append_log(LOG, len(await store.read_log(LOG)), wrong)
    value.continue_log(value.lineage(), 2)
    value.push(a("b"))
    await sessions.save(store, LOG, value)
    with pytest.raises(SessionFormatError) as refused:
        await sessions.load(store, LOG)
    assert (refused.value.file, refused.value.position) == (LOG, 3)


async def test_t139_null_removes_a_saved_value(store: AsyncSessionStore) -> None:
    states = [{"type": "state", "key": key, "value": value} for key, value in (("k", 1), ("l", 3), ("k", 2))]
    await store.append_log(LOG, 0, records(*states, {"type": "state", "key": "k", "value": None}))
    assert (await AsyncSession.read(store)).agents[LOG].values == {"l": 3}


async def test_t140_as_of_is_the_state_before_that_record(store: AsyncSessionStore) -> None:
    await store.append_log(LOG, 0, records(*[push(id) for id in range(9)]))
    assert [len(await sessions.as_of(store, LOG, n)) for n in (0, 1, 2, 5, 10)] == [0, 0, 1, 4, 9]


async def test_t141_no_log_has_no_history(store: AsyncSessionStore) -> None:
    assert await sessions.history(store, LOG) == []
    assert len(await sessions.as_of(store, LOG, 5)) == 0


async def test_t142_an_image_lies_in_a_file_named_by_content(store: AsyncSessionStore) -> None:
    value = base64.b64encode(b"png").decode()
    image = {"type": "image", "data": {"type": "base64", "value": value}, "media_type": "png"}
    await saved(store, {"role": "user", "content": [image]})
    name = f"{hashlib.sha256(b'png').hexdigest()}.png"
    written = (await lines(store))[1]["entries"][0]["message"]["content"][0]
    assert written["data"] == {"type": "url", "value": f"blob:{name}"}
    assert await store.read_file(f"blobs/{name}") == b"png"
    loaded = await sessions.load(store, LOG)
    assert loaded.messages() == [{"role": "user", "content": [image]}]
    ((_, record),) = await sessions.history(store, LOG)
    assert value in str(record)
    await store.remove_file(f"blobs/{name}")
    assert (await sessions.load(store, LOG)).messages()[0]["content"] == [written]


async def test_t143_an_append_at_another_length_is_refused(store: AsyncSessionStore) -> None:
    await store.append_log(LOG, 0, b"0123456789")
    with pytest.raises(ConflictError) as refused:
        await store.append_log(LOG, 9, b"x")
    assert (refused.value.expected, refused.value.actual) == (9, 10)
    assert await store.read_log(LOG) == b"0123456789"


async def test_t144_only_at_length_0_a_log_is_started(store: AsyncSessionStore) -> None:
    with pytest.raises(ConflictError):
        await store.append_log(LOG, 3, b"x")
    assert list(await store.logs()) == []
    await store.append_log(LOG, 0, b"x")
    assert await store.read_log(LOG) == b"x"


async def test_t145_of_two_appends_at_one_length_one_succeeds(
    handles: tuple[AsyncSessionStore, AsyncSessionStore],
) -> None:
    one, two = handles
    await one.append_log(LOG, 0, b"a")
    with pytest.raises(ConflictError):
        await two.append_log(LOG, 0, b"b")
    assert await two.read_log(LOG) == b"a"


async def test_t146_a_log_that_is_not_there_is_not_found(store: AsyncSessionStore) -> None:
    with pytest.raises(NotFoundError):
        await store.read_log(LOG)


async def test_t147_a_log_name_with_a_slash_is_refused(store: AsyncSessionStore) -> None:
    for refused in (
        lambda: sessions.load(store, "a/b"),
        lambda: sessions.save(store, "a/b", Transcript([u()])),
        lambda: store.append_log("../x", 0, b"x"),
        lambda: store.write_file("../x", b"x"),
    ):
        with pytest.raises(InvalidRecordError):
            await refused()
    assert await everything(store) == {}


async def family(store: AsyncSessionStore) -> None:
    """Agents b and its child 0-c, the retired a and the orphan of a, one after the other."""
    for n, (name, parent) in enumerate((("b", None), ("0-c", "b"), ("a", None), ("orphan", "a"))):
        spawned = {} if parent is None else {"parent": parent}
        header = line(**{**HEADER, "n": 10 * n, "log": name, "lineage": 100 + n}, **spawned)
        gone = line(seq=1, n=10 * n + 1, t=6, type="retired") if name == "a" else b""
        await store.append_log(name, 0, header + gone)


async def test_t148_the_main_agent_is_one_that_nobody_spawned_and_is_there(store: AsyncSessionStore) -> None:
    await family(store)
    session = await AsyncSession.read(store)
    assert session.main_agent == "b" and list(session.agents) == ["b", "0-c", "a", "orphan"]
    assert (await sessions.read_conversation(store)).lineage() == 100
    with pytest.raises(NotFoundError):
        await sessions.read_conversation(store, "nobody")


async def test_t149_a_retired_agent_and_those_it_spawned_are_not_restored(store: AsyncSessionStore) -> None:
    await family(store)
    _, restored = await AsyncSessionWriter.open(store)
    assert list(restored.agents) == ["b", "0-c"]
    shown = await AsyncSession.read(store)
    assert shown.agents["a"].retired and "orphan" in shown.agents


async def test_t150_nothing_is_logged_before_the_start(store: AsyncSessionStore) -> None:
    writer, _ = await AsyncSessionWriter.open(store)
    value = Transcript([u("a")])
    await writer.save(LOG, value)
    await writer.open_log("other")
    await writer.put_value(LOG, "k", 1)
    assert await everything(store) == {} and len(value.unsaved()) == 1
    nowhere = AsyncSessionWriter()
    nowhere.start()
    await nowhere.save(LOG, value)
    assert not nowhere.logs and len(value.unsaved()) == 1


async def turns(store: AsyncSessionStore) -> None:
    value = Transcript()
    for number in (1, 2):
        value.push(u(f"q{number}"))
        value.open_turn()
        value.extend([call("x"), res("x")])
        answer = value.push(a(f"a{number}"))
        value.end_turn(TurnEnd.answered(answer))
    await sessions.save(store, LOG, value)


async def test_t151_a_fork_through_an_answer_ends_with_it(store: AsyncSessionStore) -> None:
    await turns(store)
    await sessions.fork(store, LOG, "copy", at=3)
    copy, source = await sessions.load(store, "copy"), await sessions.load(store, LOG)
    assert copy.entries() == source[:4] and copy.lineage() != source.lineage()
    assert [record.end is not None for _, record in copy.turns()] == [True]
    with pytest.raises(ConflictError):
        await sessions.fork(store, LOG, "copy")
    with pytest.raises(NotFoundError):
        await sessions.fork(store, "none", "copy 2")


async def test_t152_a_fork_through_a_question_ends_before_it(
    store: AsyncSessionStore, tmp_path: Path
) -> None:
    await turns(store)
    elsewhere = AsyncDirectorySessionStore(tmp_path / "elsewhere")
    await sessions.fork(store, LOG, "copy", at=4, into=elsewhere)
    assert ids(await sessions.load(elsewhere, "copy")) == [0, 1, 2, 3]
    assert list(await store.logs()) == [LOG]


def without_secret(value: Any) -> Any:
    return json.loads(json.dumps(value).replace("secret", "***"))


async def test_t153_what_was_loaded_before_a_rewrite_is_saved_no_more(store: AsyncSessionStore) -> None:
    image = {"type": "image", "data": {"type": "base64", "value": base64.b64encode(b"png").decode()}}
    value = await saved(store, u("my secret"), {"role": "user", "content": [image]})
    value.splice(0, [u("no more")], by=P)
    value.add_aside(Aside.note("t", "secret", author=P))
    await sessions.save(store, LOG, value)
    await store.write_file("meta.json", b'{"title":"a secret"}')
    await store.write_file("recovered/user-1-x.part", b"half a secret")
    await store.write_file("blobs/" + "0" * 64 + ".png", b"of nobody, a secret")
    value.push(u("later"))
    await sessions.rewrite(store, without_secret, by=Author.user())
    held = await everything(store)
    assert not any(b"secret" in data for data in held.values())
    assert len([name for name in held if name.startswith("file blobs/")]) == 1
    before = dict(held)
    with pytest.raises(ConflictError):
        await sessions.save(store, LOG, value)
    assert await everything(store) == before
    header = (await lines(store))[0]
    assert header["rewrites"][0]["by"] == {"kind": "user"} and header["lineage"] != value.lineage()
    assert (await sessions.as_of(store, LOG, 2)).messages()[0] == u("my ***")


async def test_t154_a_dated_push_is_stamped_with_its_date(store: AsyncSessionStore) -> None:
    value = Transcript()
    value.dated(42, lambda t: t.push(u("hi")))
    await sessions.save(store, LOG, value)
    assert (await lines(store))[1]["t"] == 42
    assert [entry.made for entry in await sessions.load(store, LOG)] == [42]


# Beyond the numbered cases


async def test_a_writer_counts_over_all_logs(store: AsyncSessionStore) -> None:
    writer, session = await AsyncSessionWriter.open(store)
    assert session.agents == {} and session.main_agent is None
    writer.start()
    one, two = Transcript([u("a")]), Transcript([u("b")])
    await writer.save("one", one)
    await writer.open_log("two", "one")
    await writer.save("two", two)
    one.push(a("c"))
    await writer.save("one", one)
    await writer.put_value("session", "theme", "dark")
    await writer.put_value("one", "mode", "draft")
    await writer.retire("two")
    places = [record["n"] for log in ("one", "two", "session") for record in await lines(store, log)]
    assert sorted(places) == list(range(9))
    writer, session = await AsyncSessionWriter.open(store)
    assert session.values == {"theme": "dark"} and list(session.agents) == ["one"]
    assert session.agents["one"].values == {"mode": "draft"}
    writer.start()
    value = session.agents["one"].conversation
    value.push(u("d"))
    await writer.save("one", value)
    assert (await lines(store, "one"))[-1]["n"] == 9
    assert len(await sessions.history(store, "one")) == 4
    kinds = [type(record) for _, record in await sessions.history(store, "two")]
    assert kinds[-1] is Retired and SavedValue not in kinds


async def test_after_a_failed_write_nothing_more_is_logged(store: AsyncSessionStore) -> None:
    writer, _ = await AsyncSessionWriter.open(store)
    writer.start()
    value = Transcript([u("a")])
    await writer.save(LOG, value)
    other = await sessions.load(store, LOG)
    other.push(a("faster"))
    await sessions.save(store, LOG, other)
    value.push(a("slower"))
    for _ in range(2):
        with pytest.raises(ConflictError):
            await writer.save(LOG, value)
    assert isinstance(writer.failure, ConflictError)
    with pytest.raises(ConflictError):
        await writer.save("another", Transcript([u("b")]))
    assert list(await store.logs()) == [LOG] and await sessions.load(store, LOG) == other


async def test_a_writer_sets_torn_lines_aside(store: AsyncSessionStore) -> None:
    await store.append_log(LOG, 0, records(push(0)) + TORN)
    writer, session = await AsyncSessionWriter.open(store)
    assert session.torn == {LOG: TORN} and len(await store.files()) == 1
    writer.start()
    value = session.agents[LOG].conversation
    value.push(a("b"))
    await writer.save(LOG, value)
    assert await sessions.load(store, LOG) == value


async def test_a_lenient_read_sets_aside_what_does_not_read(store: AsyncSessionStore) -> None:
    await store.append_log(LOG, 0, records(push(0)))
    await store.append_log("bad", 0, b"nonsense\n")
    with pytest.raises(SessionFormatError):
        await AsyncSession.read(store)
    session = await AsyncSession.read_lenient(store)
    assert list(session.agents) == [LOG] and session.unreadable["bad"].position == 1


async def test_a_session_of_the_older_layout_is_refused_untouched(tmp_path: Path) -> None:
    old = tmp_path / "talk.jsonl"
    old.write_bytes(b"{}\n")
    store = AsyncDirectorySessionStore(tmp_path)
    for refused in (
        store.logs,
        lambda: sessions.load(store, LOG),
        lambda: sessions.save(store, LOG, Transcript([u()])),
        store.destroy,
    ):
        with pytest.raises(SessionFormatError, match="older layout"):
            await refused()
    assert [path.name for path in tmp_path.iterdir()] == ["talk.jsonl"] and old.read_bytes() == b"{}\n"


async def test_a_folder_holds_logs_and_files_where_rig_has_them(tmp_path: Path) -> None:
    store = AsyncDirectorySessionStore(tmp_path / "s")
    await saved(store, u())
    await store.write_file("blobs/x.png", b"x")
    files = {path.relative_to(tmp_path / "s").as_posix() for path in (tmp_path / "s").rglob("*.*")}
    assert files - {".lock"} == {f"logs/{LOG}.jsonl", "files/blobs/x.png"}


async def test_sessions_of_the_same_name_are_each_users_own(replica_set_uri: str, database_name: str) -> None:
    async with AsyncMongoClient[dict[str, Any]](replica_set_uri) as client:
        alice, bob = (
            AsyncMongoSessionStore(client[database_name], "s", user=user) for user in ("alice", "bob")
        )
        await saved(alice, u("mine"))
        assert list(await bob.logs()) == [] and len(await sessions.load(bob, LOG)) == 0
        await bob.destroy()
        assert len(await sessions.load(alice, LOG)) == 1


@pytest.mark.shared
async def test_a_real_session_reads_and_comes_back_byte_by_byte(store: AsyncSessionStore) -> None:
    data = shared("data/exports/rig-session/session-4-torn-tail.jsonl").read_bytes()
    name = json.loads(data.splitlines()[0])["log"]
    await store.append_log(name, 0, data)
    session = await AsyncSession.read(store)
    assert session.main_agent == name and len(session.agents[name].conversation) == 2
    assert list(session.torn) == [name] and len(session.agents[name].values) == 2
    assert await store.read_log(name) == data
