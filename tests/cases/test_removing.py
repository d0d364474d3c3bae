"""Cases P: imports that come twice or broken, deletes that stop half way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pymongo import MongoClient

from convostore.schemas import Conversation
from convostore.schemas.errors import ImportFormatError, NotFoundError, SchemaVersionError, UnavailableError
from convostore.schemas.json_values import same_json
from convostore.store.layout import SCHEMA_VERSION
from support import killed_clients
from support.faces import Face, SyncFace
from support.fail_point import FailPoint
from support.journeys import PARTS, PLAIN, TINY, Journey, export
from support.servers import Server

one_face = pytest.mark.parametrize("face", ["sync"], indirect=True)

Raw = MongoClient[dict[str, Any]]


def full_conversation(journey: Journey) -> int:
    """One with segments, blobs, sealed changes, bodies, a queue and a branch."""
    store, id = journey.store, journey.new(PLAIN, {"role": "tool", "content": "x" * 70_000})
    for number in range(8):
        store.append(id, {"role": "user", "content": str(number)}, usage={"requests": 1})
    for number in range(2):
        store.edit(id, number, {"role": "tool", "content": f"{number}" * 70_000})
    store.append(id, [PLAIN] * 30, keys=[f"{number:0200}" for number in range(30)])
    store.steer(id, "and now")
    return id


@one_face
def test_P03_what_a_newer_release_wrote_is_left_alone(
    journey: Journey, face: Face, raw: Raw, database_name: str
) -> None:
    store = face.open(database_name)
    store.setup()
    raw[database_name].meta.update_one({"_id": "schema"}, {"$set": {"version": 99, "digest": "newer"}})
    with pytest.raises(SchemaVersionError) as refused:
        store.setup()
    assert (refused.value.found, refused.value.known) == (99, SCHEMA_VERSION)
    assert raw[database_name].meta.find_one({"_id": "schema"})["version"] == 99


def test_P04_a_second_import_adds_nothing(journey: Journey) -> None:
    store, user = journey.store, journey.user
    ids = [full_conversation(journey), journey.new(PLAIN, label="second")]
    written = export(store, user)
    first = journey.target.import_conversations(written)
    again = journey.target.import_conversations(written)
    assert (first.imported, again.imported, again.unchanged) == (2, 0, 2)
    assert export(journey.target, user) == written
    back = store.import_conversations(written)
    assert (back.imported, back.unchanged) == (0, 2), "nor does an import where it came from"
    assert export(store, user) == written
    assert [journey.target.get(id).id for id in ids] == ids


@one_face
def test_P04_local_texts_are_never_overwritten(journey: Journey) -> None:
    id = journey.new(PLAIN, {"role": "user", "content": "theirs"})
    written = export(journey.store, journey.user)
    journey.target.import_conversations(written)
    journey.target.append(id, {"role": "user", "content": "written here"})
    journey.target.update(id, label="named here")
    report = journey.target.import_conversations(written)
    assert not report.imported
    kept = journey.target.get(id)
    assert kept.messages[-1]["content"] == "written here" and kept.label == "named here"
    # Another conversation under the same id: it is stored beside, under an id of its own.
    other = journey.target.create(Conversation(user=f"{journey.user}, other", messages=[PLAIN]))
    file = export(journey.target, other.user)
    journey.target.delete(other.id)
    journey.target.create(Conversation(id=other.id, user=journey.user, messages=[PLAIN]))
    report = journey.target.import_conversations(file)
    assert (report.imported, report.renumbered) == (1, 1)
    (found,) = journey.target.scan(user=other.user)
    assert found.id != other.id and journey.target.get(found.id).messages == [PLAIN]
    for mine in (other.id, found.id):  # ids of the other database, where other tests import
        journey.target.delete(mine)


@one_face
def test_P04_a_file_cut_anywhere_gives_what_was_whole(journey: Journey) -> None:
    ids = [journey.new(PLAIN, {"role": "user", "content": str(number)}) for number in range(3)]
    written = export(journey.store, journey.user)
    lines = written.splitlines(keepends=True)
    cuts = [b"".join(lines[:count]) for count in range(1, len(lines))] + [written[:-30], written[:-1]]
    for cut in cuts:
        report = journey.target.import_conversations(cut, dry_run=True)
        assert report.error or report.failed or cut == written[:-1]
    half = b"".join(lines[: len(lines) // 2]) + lines[len(lines) // 2][:20]
    report = journey.target.import_conversations(half)
    assert report.error and 0 < report.imported < 3
    assert {head.id for head in journey.target.scan(user=journey.user)} < set(ids)
    journey.target.import_conversations(written)
    assert export(journey.target, journey.user) == written
    for nothing in (b"", b"\n\n", b"\x00", b"{", b"[]", b"\xff\xfe", b"null"):
        with pytest.raises(ImportFormatError):
            journey.target.import_conversations(nothing, format="convostore")


@one_face
def test_P04_numbers_and_texts_of_a_file_that_no_database_holds(journey: Journey) -> None:
    journey.new(PLAIN)
    written = export(journey.store, journey.user)
    journey.store.delete_expired(2**52, user=journey.user, include=["submitted"])
    lines = [json.loads(line) for line in written.splitlines()]
    head, entries = lines[1], next(line for line in lines if line["kind"] == "entries")
    big = {"$int": str(2**64)}
    changes: list[tuple[dict[str, Any], str, Any]] = [
        (entries["entries"][0], "made", {"$int": str(2**64 - 1)}),
        (entries["entries"][0], "made", big),
        (entries["entries"][0], "made", -1),
        (entries["entries"][0], "id", big),
        (entries["entries"][0], "id", {"$int": str(2**63)}),
        (entries["entries"][0], "dialect", "\ud800"),
        (entries["entries"][0], "author", {"kind": {"plugin": "\ud800"}}),
        (head, "version", big),
        (head, "revision", {"$int": str(2**63)}),
        (head, "lineage", {"$int": str(2**63)}),
        (head, "next_entry", {"$int": str(2**63)}),
        (head, "user", "\ud800"),
        (head, "id", big),
        (head, "id", -1),
        (head, "source", {"format": "\ud800", "id": "x"}),
        (head, "source", {"format": {"$ne": 1}, "id": "x"}),
        (head, "source", {"format": "x" * 5000, "id": "x"}),
        (head, "unknown", {"x": "\ud800", "\0": [big]}),
        (head["record"], "label", "\ud800"),
        (head["record"], "created_at", {"$int": str(2**64 - 1)}),
        (head["record"], "usage", {"input_tokens": big}),
        (head["record"], "extra", {"\ud800": [1e300, big, None]}),
        (head["record"], "thread", ""),
    ]
    for place, name, value in changes:
        kept = place.get(name)
        place[name] = value
        file = "\n".join(map(json.dumps, lines)).encode()
        if kept is None:
            del place[name]
        else:
            place[name] = kept
        report = journey.target.import_conversations(file)
        assert report.error or report.failed or report.imported, (name, value)
        for found in journey.target.scan(user=journey.user):
            record = journey.target.get(found.id)
            assert same_json(record.messages, [PLAIN])
            journey.target.messages(found.id)
        for found in list(journey.target.scan(user=journey.user)):
            journey.target.delete(found.id)


@one_face
def test_P04_identities_and_times_that_no_database_holds(journey: Journey) -> None:
    store, user = journey.store, journey.user
    message = '"messages":[{"role":"user","content":"x"}]'
    lines = [f'{{"id":"{id}",{message}}}' for id in ("\\ud800", "x" * 5000, "a\\u0000b", "fine", "")]
    lines += [f'{{"metadata":{{"a\\u0000":"\\ud800","$ref":1,"$id":2}},"\\ud800":[1],"$set":{{}},{message}}}']
    lines += [f'{{"id":"deep","metadata":{"[" * 600}{"]" * 600},{message}}}']
    report = store.import_conversations("\n".join(lines).encode(), format="openai", user=user)
    assert report.read == len(lines) and report.imported + report.failed == len(lines)
    assert {problem.position for problem in report.problems} >= {1, 2, 7}
    for head in store.scan(user=user):
        assert store.get(head.id).messages == [{"role": "user", "content": "x"}]
    for file in ("\ud800", "x" * 5000):
        told = store.import_conversations(
            f"{{{message}}}".encode(), format="openai", user=f"{user}2", file=file
        )
        assert (told.imported, told.failed) == (0, 1)
    latest = {"role": "user", "content": [], "timestamp": 2**64 - 1}
    record = {"_id": 2**64 - 1, "user": user, "created_at": 2**64 - 1, "messages": [latest]}
    done = store.import_conversations(json.dumps(record).encode(), format="anda")
    assert done.imported == 1, done
    (entry,) = store.entries(2**64 - 1)
    assert same_json(entry.message, latest) and entry.made is None
    store.delete(2**64 - 1)


@pytest.mark.fault
@one_face
def test_P06_a_delete_killed_between_its_steps_is_finished_by_the_next(
    journey: Journey, replica_set: Server, raw: Raw, databases: tuple[str, str]
) -> None:
    place = 0
    while True:
        id = full_conversation(journey)
        branch = journey.store.continue_from(id, messages=[PLAIN])
        died = killed_clients.killed_at(
            place, killed_clients.delete, replica_set.uri(), databases[0], id, bounds=TINY
        )
        gone = journey.store.delete(id)
        assert not journey.store.delete(id).existed
        left = {name: raw[databases[0]][name].count_documents({"c": id}) for name in PARTS[1:]}
        assert not any(left.values()), f"killed before command {place}: {left}"
        assert not list(raw[databases[0]].meta.find({"_id.deletion.c": id}))
        with pytest.raises(NotFoundError):
            journey.store.get(id)
        assert journey.store.get(branch.id).messages == [PLAIN], "what goes on from it stays"
        if not died:
            break
        assert gone.existed or place > 2
        place += 1
    assert place >= 6, "it died nowhere: the test shows nothing"


@pytest.mark.fault
@one_face
def test_P08_a_delete_whose_step_fails_once_can_be_repeated(
    journey: Journey, replica_set: Server, raw: Raw, databases: tuple[str, str]
) -> None:
    own = SyncFace(replica_set.uri(appName="P08"))
    store = own.open(databases[0], bounds=TINY)
    for command in ("delete", "update", "findAndModify"):
        id = full_conversation(journey)
        with (
            FailPoint(replica_set, [command], app_name="P08", times=1, error_code=13),
            pytest.raises(UnavailableError),
        ):
            store.delete(id)
        store.delete(id)
        assert not any(raw[databases[0]][name].count_documents({"c": id}) for name in PARTS[1:])
        assert not store.delete(id).existed and not list(raw[databases[0]].meta.find({"_id.deletion.c": id}))
    kept = full_conversation(journey)
    journey.store.set_status(kept, "completed")
    with (
        FailPoint(replica_set, ["delete"], app_name="P08", times=1, error_code=13),
        pytest.raises(UnavailableError),
    ):
        store.delete_expired(2**52, user=journey.user)
    store.delete_expired(2**52, user=journey.user)
    assert not store.delete(kept).existed
    assert not any(raw[databases[0]][name].count_documents({"c": kept}) for name in PARTS[1:])
    own.close()
