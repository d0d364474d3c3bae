"""Imports and exports on a real server: nothing twice, nothing lost, nothing of others touched."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any

import mongomock
import pytest
from pymongo import AsyncMongoClient
from pymongo.monitoring import (
    CommandFailedEvent,
    CommandListener,
    CommandStartedEvent,
    CommandSucceededEvent,
)

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import (
    ImportFormatError,
    InvalidRecordError,
    NotFoundError,
    QueryError,
    SchemaVersionError,
)
from convostore.schemas.json_values import same_json
from convostore.schemas.resources import Resource
from convostore.store import ALL_USERS, AsyncConversationStore, ConversationStore, ImportReport
from support.command_log import CommandLog
from support.servers import Server
from support.shared import SHARED

HI = {"role": "user", "content": "hi"}
HELLO = {"role": "assistant", "content": "hello", "created_at": "2026-03-08T12:00:00Z"}


@pytest.fixture
def store(replica_set: Server, database_name: str) -> Iterator[ConversationStore]:
    with replica_set.client() as client:
        opened = ConversationStore(client[database_name])
        opened.setup()
        yield opened


@pytest.fixture
def other(replica_set: Server, database_name: str) -> Iterator[ConversationStore]:
    name = f"{database_name}_other"
    with replica_set.client() as client:
        opened = ConversationStore(client[name])
        opened.setup()
        yield opened
        client.drop_database(name)


def lines(*values: Any) -> bytes:
    return "".join(f"{json.dumps(value)}\n" for value in values).encode()


def chat(id: str, *messages: Any, **more: Any) -> dict[str, Any]:
    return {"id": id, "messages": list(messages), **more}


def record(id: int, **members: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "_id": id,
        "user": "alice",
        "messages": [HI],
        "resources": [],
        "artifacts": [],
        "status": "completed",
        "usage": {"input_tokens": 1, "output_tokens": 2, "cached_tokens": 0, "requests": 1},
        "created_at": 1_700_000_000_000 + id,
        "updated_at": 1_700_000_000_000 + id,
    }
    return given | members


def exported(store: ConversationStore, **options: Any) -> bytes:
    parts: list[bytes] = []
    store.export_conversations(parts.append, **({"user": ALL_USERS} | options))
    return b"".join(parts)


def counts(report: ImportReport) -> dict[str, int]:
    names = ("read", "imported", "updated", "unchanged", "renumbered", "skipped", "failed", "messages")
    found = {name: getattr(report, name) for name in names if getattr(report, name)}
    assert report.read == report.imported + report.updated + report.unchanged + report.skipped + report.failed
    return found


# Foreign formats


def test_import_stores_once_and_a_repeat_changes_nothing(store: ConversationStore) -> None:
    source = lines(chat("a", HI, HELLO, metadata={"n": 1}, tools=[]), chat("b", HI))
    first = store.import_conversations(source, user="alice", file="f.jsonl")
    assert counts(first) == {"read": 2, "imported": 2, "messages": 3}
    before = exported(store)
    again = store.import_conversations(source, user="alice", file="f.jsonl")
    assert counts(again) == {"read": 2, "unchanged": 2, "messages": 3}
    assert exported(store) == before
    head = next(iter(store.scan(user="alice")))
    assert head.status == "completed"
    assert head.source is not None and (head.source.format, head.source.id) == ("openai", "a")
    assert head.created_at == 1_772_971_200_000
    assert [entry.made for entry in store.entries(head.id)] == [None, 1_772_971_200_000]
    assert [entry.dialect for entry in store.entries(head.id)] == ["openai", "openai"]


class _Holding(CommandListener):
    """Keeps the first look for sources from the server until the input is read on."""

    def __init__(self) -> None:
        self.is_read_on = threading.Event()
        self.waited = list[bool]()

    def started(self, event: CommandStartedEvent) -> None:
        if "source.id" in event.command.get("filter", {}) and not self.waited:
            self.waited.append(self.is_read_on.wait(10))

    def succeeded(self, event: CommandSucceededEvent) -> None:
        pass

    def failed(self, event: CommandFailedEvent) -> None:
        pass


def test_the_input_is_read_on_while_the_store_looks_for_what_it_has(
    store: ConversationStore, replica_set: Server, database_name: str
) -> None:
    holding, batch = _Holding(), 1000
    long = {"role": "user", "content": "x" * 300}

    def chunks() -> Iterator[bytes]:
        yield lines(*(chat(f"c{number}", long) for number in range(batch)))
        holding.is_read_on.set()
        yield lines(chat("c1", long), *(chat(f"d{number}", long) for number in range(batch)))

    with replica_set.client(event_listeners=[holding]) as client:
        report = ConversationStore(client[database_name]).import_conversations(chunks(), user="alice")
    assert holding.waited == [True]
    assert counts(report) == {
        "read": 2 * batch + 1,
        "imported": 2 * batch,
        "unchanged": 1,
        "messages": 2 * batch + 1,
    }
    ids = [head.source.id for head in store.scan(user="alice") if head.source is not None]
    assert ids == [f"{letter}{number}" for letter in "cd" for number in range(batch)], "in their order"


def test_same_source_of_two_users_is_two_conversations(store: ConversationStore) -> None:
    source = lines(chat("a", HI))
    store.import_conversations(source, user="alice")
    assert counts(store.import_conversations(source, user="bob"))["imported"] == 1


def test_source_that_grew_is_appended_with_its_times(store: ConversationStore) -> None:
    store.import_conversations(lines(chat("a", HI)), user="alice")
    report = store.import_conversations(lines(chat("a", HI, HELLO, metadata={"n": 2})), user="alice")
    assert counts(report) == {"read": 1, "updated": 1, "messages": 2}
    head = next(iter(store.scan(user="alice")))
    assert [entry.made for entry in store.entries(head.id)] == [None, 1_772_971_200_000]
    assert head.extra == {"n": 2}
    again = store.import_conversations(lines(chat("a", HI, HELLO, metadata={"n": 2})), user="alice")
    assert counts(again)["unchanged"] == 1


def test_source_that_changed_a_message_changes_it_here(store: ConversationStore) -> None:
    store.import_conversations(lines(chat("a", HI, HELLO)), user="alice")
    mended = {"role": "user", "content": "hi, mended", "created_at": "2026-03-08T11:00:00Z"}
    report = store.import_conversations(lines(chat("a", mended, HELLO)), user="alice")
    assert counts(report)["updated"] == 1
    (head,) = store.scan(user="alice")
    entries = list(store.entries(head.id))
    assert [entry.message for entry in entries] == [mended, HELLO]
    assert [entry.made for entry in entries] == [1_772_967_600_000, 1_772_971_200_000]


def test_messages_that_take_the_place_of_fewer_have_no_time_but_their_own(store: ConversationStore) -> None:
    store.import_conversations(lines(chat("a", HI, HELLO)), user="alice")
    store.import_conversations(lines(chat("a", HI, {**HI, "content": "between"}, HI, HELLO)), user="alice")
    (head,) = store.scan(user="alice")
    assert [entry.made for entry in store.entries(head.id)] == [None, None, None, 1_772_971_200_000]


def test_source_that_became_shorter_deletes_nothing(store: ConversationStore) -> None:
    store.import_conversations(lines(chat("a", HI, HELLO)), user="alice")
    report = store.import_conversations(lines(chat("a", HI)), user="alice")
    assert counts(report) == {"read": 1, "skipped": 1, "messages": 1}
    assert "delete none" in report.problems[0].reason
    (head,) = store.scan(user="alice")
    assert head.message_count == 2


def test_conversation_changed_here_and_in_the_source_is_kept_and_reported(store: ConversationStore) -> None:
    store.import_conversations(lines(chat("a", HI)), user="alice")
    (head,) = store.scan(user="alice")
    store.append(head.id, {"role": "user", "content": "ours"})
    report = store.import_conversations(lines(chat("a", HI, HELLO, HI)), user="alice")
    assert counts(report)["skipped"] == 1 and "changed here" in report.problems[0].reason
    assert [entry.message["content"] for entry in store.entries(head.id)] == ["hi", "ours"]


def test_messages_of_the_source_follow_what_was_only_relabelled_here(store: ConversationStore) -> None:
    store.import_conversations(lines(chat("a", HI, metadata={"n": 1})), user="alice")
    (head,) = store.scan(user="alice")
    store.update(head.id, label="ours", extra={"ours": True})
    store.import_conversations(lines(chat("a", HI, HELLO, metadata={"n": 2})), user="alice")
    (head,) = store.scan(user="alice")
    assert (head.message_count, head.label, head.extra) == (2, "ours", {"ours": True})


def test_identity_read_twice_in_one_input_with_other_content_fails_by_name(store: ConversationStore) -> None:
    report = store.import_conversations(lines(chat("a", HI), chat("a", HI), chat("a", HELLO)), user="alice")
    assert counts(report) == {"read": 3, "imported": 1, "unchanged": 1, "failed": 1, "messages": 2}
    assert (report.problems[0].position, report.problems[0].id) == (3, "a")
    assert not report


def test_broken_lines_are_reported_and_the_rest_is_stored(store: ConversationStore) -> None:
    source = lines(chat("a", HI)) + b"{oops\n" + lines({"messages": 1}, chat("b", HI)) + b'{"id":"c'
    report = store.import_conversations(source, user="alice")
    assert counts(report) == {"read": 5, "imported": 2, "failed": 3, "messages": 2}
    assert [problem.position for problem in report.problems] == [2, 3, 5]
    assert "ends in the middle" in report.problems[2].reason


def test_what_the_store_refuses_is_reported_with_its_path(store: ConversationStore) -> None:
    deep: Any = 1
    for _ in range(600):
        deep = [deep]
    source = (
        lines(chat("a", HI))
        + f'{{"id":"b","messages":[{{"role":"user","content":{json.dumps(deep)}}}]}}\n'.encode()
    )
    report = store.import_conversations(source, user="alice")
    assert counts(report)["failed"] == 1 and "nested too deeply" in report.problems[0].reason


def test_dry_run_tells_and_writes_nothing(store: ConversationStore) -> None:
    store.import_conversations(lines(chat("a", HI), chat("b", HI)), user="alice")
    before = exported(store)
    source = lines(chat("a", HI, HELLO), chat("b", HI), chat("c", HI))
    report = store.import_conversations(source, user="alice", dry_run=True)
    assert counts(report) == {"read": 3, "imported": 1, "updated": 1, "unchanged": 1, "messages": 4}
    assert exported(store) == before


def test_ids_are_kept_when_free_and_links_follow_those_that_are_not(store: ConversationStore) -> None:
    taken = store.create(Conversation(id=7, user="bob"))
    source = lines(
        record(5, child=7),
        record(7, ancestors=[5], child=9),
        record(9, ancestors=[5, 7], child=77),
        record(11, ancestors=[3]),
    )
    report = store.import_conversations(source)
    assert counts(report) == {"read": 4, "imported": 4, "renumbered": 1, "messages": 4}
    assert report.problems[0].kind == "renumbered" and report.problems[0].id == "7@1700000000007"
    heads = {head.id: head for head in store.scan(user="alice")}
    new = next(id for id in heads if id not in (5, 9, 11))
    assert (heads[5].child, heads[new].ancestors, heads[new].child) == (new, (5,), 9)
    assert heads[9].ancestors == (5, new)
    assert (heads[9].child, heads[11].ancestors) == (77, (3,))
    assert any("lead out of the input" in note for note in report.notes)
    assert store.head(taken.id).user == "bob"
    assert store.create(Conversation(user="alice")).id > max(heads)
    assert counts(store.import_conversations(source))["unchanged"] == 4


def test_states_and_times_of_records_are_theirs(store: ConversationStore) -> None:
    store.import_conversations(lines(record(5, status="idle", label="l", failed_reason="r", thread="t")))
    found = store.get(5)
    assert (found.status, found.label, found.thread) == ("idle", "l", "t")
    assert (found.created_at, found.updated_at) == (1_700_000_000_005, 1_700_000_000_005)
    assert found.usage.output_tokens == 2
    assert (found.failed_reason, store.head(5).source) is not None


def test_delta_is_merged_at_its_offsets_into_the_named_record(store: ConversationStore) -> None:
    store.import_conversations(lines(record(5, messages=[HI, HELLO], status="working")))
    delta = {
        "_id": 5,
        "messages": [HI],
        "artifacts": [],
        "status": "completed",
        "usage": {"input_tokens": 9, "output_tokens": 2, "cached_tokens": 0, "requests": 2},
        "failed_reason": None,
        "updated_at": 1_800_000_000_000,
        "child": None,
    }
    without = store.import_conversations(lines(delta))
    assert counts(without) == {"read": 1, "failed": 1}
    report = store.import_conversations(lines(delta), messages_offset=2, artifacts_offset=0)
    assert counts(report)["updated"] == 1
    found = store.get(5)
    assert (len(found.messages), found.status, found.usage.input_tokens) == (3, "completed", 9)
    again = store.import_conversations(lines(delta), messages_offset=2, artifacts_offset=0)
    assert counts(again)["unchanged"] == 1
    beyond = store.import_conversations(lines(delta), messages_offset=7, artifacts_offset=0)
    assert counts(beyond)["failed"] == 1 and "only 3" in beyond.problems[0].reason
    missing = store.import_conversations(lines(delta), messages_offset=0, artifacts_offset=0, into=999)
    assert counts(missing)["failed"] == 1 and "does not exist" in missing.problems[0].reason


def test_more_conversations_than_a_batch_keep_their_order(store: ConversationStore) -> None:
    source = lines(*(chat(str(number), HI) for number in range(450)))
    report = store.import_conversations(
        [source[start : start + 777] for start in range(0, len(source), 777)], user="a"
    )
    assert counts(report) == {"read": 450, "imported": 450, "messages": 450}
    ids = [head.source.id for head in store.scan(user="a") if head.source is not None]
    assert ids == [str(number) for number in range(450)]


def test_long_conversation_is_sealed_and_read_back_whole(store: ConversationStore) -> None:
    messages = [{"role": "user", "content": f"{number} " + "x" * 500} for number in range(3_000)]
    messages[7]["content"] = "y" * 300_000
    store.import_conversations(lines(chat("long", *messages)), user="alice")
    (head,) = store.scan(user="alice")
    assert store.get(head.id).messages == messages
    assert not store.check().findings
    (back,) = map(json.loads, exported(store, format="openai").splitlines())
    assert back == chat("long", *messages)


@pytest.mark.parametrize(
    ("source", "options", "error"),
    [
        (b"", {}, ImportFormatError),
        (b"what?\n", {}, ImportFormatError),
        (b"[]", {"format": "nothing"}, QueryError),
        (lines(chat("a", HI)), {}, InvalidRecordError),
        (lines(chat("a", HI)), {"user": None}, InvalidRecordError),
        (lines(chat("a", HI)), {"user": {"$ne": None}}, InvalidRecordError),
        (lines(record(1)), {"into": -1}, InvalidRecordError),
    ],
)
def test_import_that_makes_no_sense_is_refused(
    store: ConversationStore, source: bytes, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        store.import_conversations(source, **options)
    assert store.count(user=ALL_USERS) == 0


# Exports


def test_anda_export_is_what_the_versions_own_writer_makes(store: ConversationStore) -> None:
    store.import_conversations(lines(record(5, status="idle"), record(6)))
    for version in (1, 2, 3, 4):
        written = exported(store, format="anda", version=version)
        assert written.decode() == "".join(f"{store.get(id).to_json(version=version)}\n" for id in (5, 6))
    report = store.export_conversations(lambda data: None, user=ALL_USERS, format="anda", version=1)
    assert any("idle" in note for note in report.notes)
    with pytest.raises(SchemaVersionError):
        store.export_conversations(lambda data: None, user=ALL_USERS, format="anda", version=1, strict=True)


def test_export_holds_only_what_the_conditions_name(store: ConversationStore) -> None:
    store.import_conversations(lines(record(5), record(6, user="bob"), record(7, label="x", status="idle")))
    assert [
        json.loads(line)["_id"] for line in exported(store, format="anda", user="alice").splitlines()
    ] == [5, 7]
    assert len(exported(store, format="anda", status="idle").splitlines()) == 1
    assert len(exported(store, format="anda", label="x").splitlines()) == 1
    assert exported(store, format="anda", since=1_800_000_000_000) == b""
    with pytest.raises(InvalidRecordError):
        exported(store, user=None)
    with pytest.raises(QueryError):
        exported(store, format="nothing")


@pytest.mark.parametrize("format", ["anda", "openai", "convostore"])
def test_a_small_conversation_is_written_at_once(store: ConversationStore, format: str) -> None:
    store.import_conversations(lines(*(record(id) for id in (5, 6, 7))))
    pieces: list[bytes] = []
    store.export_conversations(pieces.append, user="alice", format=format)
    whole = [piece for piece in pieces if b'"hi"' in piece]
    assert len(whole) == 3 and all(piece.endswith(b"\n") for piece in whole)
    assert len(pieces) - len(whole) == (2 if format == "convostore" else 0), "header and trailer"


def test_small_conversations_are_read_many_at_a_time(
    store: ConversationStore, replica_set: Server, database_name: str
) -> None:
    count = 500
    store.import_conversations(lines(*(chat(f"c{number}", HI) for number in range(count))), user="alice")
    log = CommandLog()
    with replica_set.client(event_listeners=[log]) as client:
        watched = ConversationStore(client[database_name])
        for format in ("convostore", "anda", "openai"):
            log.clear()
            assert exported(watched, format=format).count(b'"hi"') == count
            read = [one for one in log.sent if one.collection == "conversations"]
            assert len(read) <= 4, "the first page, one of a mebibyte, and the end"


# The canonical format


def everything(store: ConversationStore) -> None:
    """Conversations with all that a store can hold about them."""
    messages: list[Any] = [{"role": "user", "content": str(number)} for number in range(300)]
    messages[3] = {"nan": [float("nan"), float("inf"), -0.0, 1, 1.0, True], "half": "\ud800", "big": 2**70}
    messages[4] = {"$ref": "a", "$id": 1, "a.b": {"$set": 1}, "\x00": 2, "$oid": "5"}
    messages[5] = {"role": "tool", "content": "z" * 200_000}
    one = store.create(Conversation(user="alice", messages=messages, extra={"big": 2**65, "$int": "7"}))
    store.edit(one.id, 5, {"role": "tool", "content": "edited"}, author={"kind": "agent", "from": "x"})
    store.edit(one.id, 299, {"role": "user", "content": "last, edited"})
    for number in range(140):
        store.append(one.id, {"role": "user", "content": f"more {number}"}, usage={"input_tokens": 2**40})
    held = store.get(one.id)
    del held.messages[10:100]
    held.label = "cut"
    store.save(held)
    store.append(one.id, HI, key="caller's key")
    store.steer(one.id, "stop")
    store.follow_up(one.id, "and then")
    store.take(one.id, key="taken")
    store.follow_up(one.id, "later")
    child = store.continue_from(one.id, messages=[HI], label="child")
    store.stop(child.id, reason="enough")
    small = store.resources.add(Resource(name="s", tags=["text"], blob=b"small"), user="alice")
    large = store.resources.add(Resource(name="l", blob=bytes(range(256)) * 4_000), user="alice")
    link = store.resources.add(Resource(name="link", uri="https://example.com"), user="bob")
    store.create(Conversation(id=2**63 + 5, user="alice", resources=[small, large], child=2**64 - 1))
    store.create(Conversation(user="bob", artifacts=[link], status="submitted", steering_messages=[]))
    store.import_conversations(lines(chat("a", HI, metadata=[1], odd="\ud801")), user="carol", file="f")


def test_everything_comes_back_byte_for_byte(store: ConversationStore, other: ConversationStore) -> None:
    everything(store)
    written = exported(store)
    assert written == exported(store)
    written.decode("ascii")
    report = other.import_conversations(written)
    assert report.error is None and not report.failed
    assert counts(report)["imported"] == 5 and report.resources == 3
    assert exported(other) == written
    assert not other.check().findings
    for head in store.scan(user=ALL_USERS):
        ours, theirs = store.get(head.id), other.get(head.id)
        assert same_json(ours.to_json_object(), theirs.to_json_object())
    replayed = other.append(1, HI, key="caller's key")
    assert replayed.replayed


def test_restored_conversation_goes_on_as_the_original(
    store: ConversationStore, other: ConversationStore
) -> None:
    everything(store)
    other.import_conversations(exported(store))
    for opened in (store, other):
        opened.edit(1, 299, HI)
        opened.append(1, [HI, HELLO], status="completed")
        assert not opened.check().findings
    assert same_json(store.get(1).messages, other.get(1).messages)
    assert [entry.id for entry in store.entries(1)] == [entry.id for entry in other.entries(1)]


def test_canonical_repeat_changes_nothing_and_newer_files_bring_up_to_date(
    store: ConversationStore, other: ConversationStore
) -> None:
    one = store.create(Conversation(user="alice", messages=[HI]))
    old = exported(store)
    other.import_conversations(old)
    assert counts(other.import_conversations(old)) == {"read": 1, "unchanged": 1, "messages": 1}
    store.append(one.id, HELLO, status="completed")
    store.update(one.id, label="new")
    newer = exported(store)
    assert counts(other.import_conversations(newer)) == {"read": 1, "updated": 1, "messages": 2}
    found = other.get(one.id)
    assert (found.messages, found.label, found.status) == ([HI, HELLO], "new", "completed")
    assert counts(other.import_conversations(newer))["unchanged"] == 1
    assert counts(other.import_conversations(old))["unchanged"] == 1
    assert other.get(one.id).messages == [HI, HELLO]


def test_canonical_conversation_that_both_sides_changed_is_kept(
    store: ConversationStore, other: ConversationStore
) -> None:
    one = store.create(Conversation(user="alice", messages=[HI]))
    other.import_conversations(exported(store))
    other.append(one.id, {"role": "user", "content": "ours"})
    store.append(one.id, [HELLO, HI, HELLO])
    store.append(one.id, HI)
    report = other.import_conversations(exported(store))
    assert counts(report)["skipped"] == 1
    assert other.get(one.id).messages[1] == {"role": "user", "content": "ours"}


def test_canonical_id_that_is_taken_is_renumbered_once(
    store: ConversationStore, other: ConversationStore
) -> None:
    parent = store.create(Conversation(user="alice", messages=[HI]))
    resource = store.resources.add(Resource(name="r", blob=b"bytes"), user="alice")
    child = store.continue_from(parent.id, messages=[HELLO])
    store.append(child.id, HI, resources=[resource])
    other.create(Conversation(user="bob"))
    other.create(Conversation(user="bob"))
    other.resources.add(Resource(name="x", blob=b"another"), user="alice")
    written = exported(store)
    report = other.import_conversations(written)
    assert counts(report)["renumbered"] == 2 and not report.failed
    heads = list(other.scan(user="alice"))
    assert [head.child for head in heads] == [heads[1].id, None]
    assert heads[1].ancestors == (heads[0].id,)
    (reference,) = other.get(heads[1].id).resources
    found = other.resources.get(reference.id, user="alice", conversation=heads[1].id)
    assert found.blob == b"bytes" and reference.id != resource.id
    before = exported(other)
    assert counts(other.import_conversations(written))["unchanged"] == 2
    assert exported(other) == before
    assert not other.check().findings


def test_file_that_broke_off_leaves_whole_conversations_and_no_leftovers(
    store: ConversationStore, other: ConversationStore
) -> None:
    everything(store)
    written = exported(store)
    ends = [at for at in range(len(written)) if written.startswith(b'{"kind":"end"', at)]
    for cut in (ends[0] - 10, ends[1] - 10, len(written) - 5):
        report = other.import_conversations(written[:cut])
        assert report.error is not None and "cut off" in report.error
        assert not report
        whole = sum(at < cut - 20 for at in ends)
        assert other.count(user=ALL_USERS) == whole
        assert not other.check().findings
    assert counts(other.import_conversations(written))["unchanged"] == len(ends)
    assert exported(other) == written


def test_altered_and_foreign_files_are_refused(store: ConversationStore, other: ConversationStore) -> None:
    store.create(Conversation(user="alice", messages=[HI]))
    written = exported(store)
    report = other.import_conversations(written.replace(b'"hi"', b'"ho"'))
    assert report.error is not None and "altered" in report.error
    newer = written.replace(b'"version":1}', b'"version":99}', 1)
    with pytest.raises(SchemaVersionError):
        other.import_conversations(newer)
    lines_of = written.splitlines(keepends=True)
    broken = b"".join([*lines_of[:2], b'{"kind":"changes","changes":[{}]}\n', *lines_of[3:]])
    report = other.import_conversations(broken)
    assert counts(report)["failed"] == 1 and report.error is not None


def test_canonical_file_can_be_given_to_another_user(
    store: ConversationStore, other: ConversationStore
) -> None:
    everything(store)
    report = other.import_conversations(exported(store), user="dave")
    assert not report.failed and other.count(user="dave") == other.count(user=ALL_USERS) == 5
    assert counts(other.import_conversations(exported(store), user="dave"))["unchanged"] == 5


def test_canonical_dry_run_writes_nothing(store: ConversationStore, other: ConversationStore) -> None:
    everything(store)
    report = other.import_conversations(exported(store), dry_run=True)
    assert counts(report)["imported"] == 5 and report.resources == 3
    assert other.count(user=ALL_USERS) == 0
    assert len(exported(other).splitlines()) == 2


def test_conditions_leave_out_resources_that_nothing_exported_names(store: ConversationStore) -> None:
    everything(store)
    kinds = [json.loads(line)["kind"] for line in exported(store, label="child").splitlines()]
    assert kinds.count("resource") == 0 and kinds.count("conversation") == 1


def test_conversation_rewritten_during_an_export_is_exported_at_one_version(
    store: ConversationStore, other: ConversationStore
) -> None:
    store.create(Conversation(user="alice", messages=[{"n": number} for number in range(200)]))
    store.create(Conversation(user="alice", messages=[HI]))
    parts: list[bytes] = []

    def write(data: bytes) -> None:
        parts.append(data)
        if b'"kind":"conversation"' in data:
            store.edit(1, 20, {"edited": len(parts)})
            store.edit(1, 190, {"edited": len(parts)})

    store.export_conversations(write, user="alice")
    report = other.import_conversations(b"".join(parts))
    assert report.error is None and counts(report)["imported"] == 2
    assert other.get(1).messages == [{"n": number} for number in range(200)]


# Other faces and engines


def test_async_face_does_the_same(store: ConversationStore, replica_set: Server, database_name: str) -> None:
    everything(store)
    written = exported(store)

    async def exchange() -> tuple[bytes, ImportReport]:
        async with AsyncMongoClient(replica_set.uri()) as client:
            same = AsyncConversationStore(client[database_name])
            parts: list[bytes] = []
            await same.export_conversations(parts.append, user=ALL_USERS)
            fresh = AsyncConversationStore(client[f"{database_name}_async"])
            await fresh.setup()
            report = await fresh.import_conversations(b"".join(parts))
            again: list[bytes] = []
            await fresh.export_conversations(again.append, user=ALL_USERS)
            await client.drop_database(f"{database_name}_async")
            assert again == parts
            return b"".join(parts), report

    found, report = asyncio.run(exchange())
    assert found == written and counts(report)["imported"] == 5


def test_mongomock_does_what_it_can(store: ConversationStore) -> None:
    one = store.create(Conversation(user="alice", messages=[HI, HELLO] * 100))
    store.edit(one.id, 3, HI)
    store.resources.add(Resource(name="s", blob=b"small"), user="alice")
    written = exported(store)
    memory = ConversationStore(mongomock.MongoClient()["memory"])
    memory.setup()
    assert counts(memory.import_conversations(written))["imported"] == 1
    assert exported(memory) == written


def test_for_another_user_nothing_is_seen(store: ConversationStore) -> None:
    store.import_conversations(lines(chat("secret", HI)), user="alice")
    assert exported(store, user="bob", format="openai") == b""
    with pytest.raises(NotFoundError):
        store.get(1, user="bob")


@pytest.mark.shared
def test_two_hundred_real_runs_come_in_once_and_go_out_equal(
    store: ConversationStore, other: ConversationStore
) -> None:
    path = SHARED / "data" / "airline_agent_runs.openai.jsonl"
    with path.open("rb") as file:
        report = store.import_conversations(file, user="bench", file=path.name)
    assert counts(report) == {"read": 200, "imported": 200, "messages": 5308}
    with path.open("rb") as file:
        assert counts(store.import_conversations(file, user="bench")) == {
            "read": 200,
            "unchanged": 200,
            "messages": 5308,
        }
    back = [json.loads(line) for line in exported(store, format="openai").splitlines()]
    with path.open("rb") as file:
        assert same_json(back, [json.loads(line) for line in file])
    written = exported(store)
    other.import_conversations(written)
    assert exported(other) == written


def test_same_conversations_in_another_layout_are_unchanged(store: ConversationStore) -> None:
    conversations = [chat("a", HI, HELLO), chat("b", HI)]
    store.import_conversations(lines(*conversations), user="alice")
    for text in (json.dumps(conversations), json.dumps(conversations, indent=2)):
        report = store.import_conversations(text.encode(), user="alice")
        assert counts(report) == {"read": 2, "unchanged": 2, "messages": 3}
    (first, _) = store.scan(user="alice")
    assert first.version == 1
