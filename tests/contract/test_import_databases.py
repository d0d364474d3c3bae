"""Conversations of other programs' databases: live, dumped and exported, each known again in every form."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from gridfs import GridFSBucket
from pymongo.database import Database

from convostore.schemas.errors import ImportFormatError, InvalidRecordError, QueryError, UnavailableError
from convostore.store import ALL_USERS, AsyncConversationStore, ConversationStore, ImportReport
from support.foreign_databases import (
    BEGUN_MS,
    Collections,
    archive,
    at,
    chat_ui,
    dump,
    exported,
    fill,
    langchain,
    langgraph,
    librechat,
    object_id,
    openai_agents,
)
from support.servers import Server


@pytest.fixture
def store(replica_set: Server, database_name: str) -> Iterator[ConversationStore]:
    with replica_set.client() as client:
        opened = ConversationStore(client[database_name])
        opened.setup()
        yield opened


@pytest.fixture
def source(replica_set: Server, database_name: str) -> Iterator[Database[Any]]:
    with replica_set.client() as client:
        database = client[f"{database_name}_src"]
        yield database
        client.drop_database(database.name)


@pytest.fixture
def live(replica_set: Server, source: Database[Any]) -> str:
    return replica_set.uri(source.name)


def counts(report: ImportReport) -> dict[str, int]:
    told = report.to_json()
    names = ("read", "imported", "updated", "unchanged", "skipped", "failed", "branches", "messages")
    found = {name: told[name] for name in names if told[name]}
    taken = sum(told[name] for name in ("imported", "updated", "unchanged", "skipped", "failed"))
    assert told["read"] == taken, told
    return found


def texts(store: ConversationStore) -> dict[str, list[tuple[Any, ...]]]:
    """What is stored, by source identity: role, text and time of each message."""
    return {
        head.source.id: [
            (entry.message["role"], entry.message["content"][0]["text"], entry.made)
            for entry in store.entries(head.id)
        ]
        for head in store.scan(user=ALL_USERS)
        if head.source is not None
    }


def versions(store: ConversationStore) -> list[tuple[int, int, int]]:
    """What is stored, to compare: an import that changes nothing leaves every version as it was."""
    return [(head.id, head.version, head.updated_at) for head in store.scan(user=ALL_USERS)]


LIBRECHAT = {"read": 9, "imported": 9, "branches": 6, "messages": 18}


def of_bson(folder: Path, collections: Collections, live: str) -> Any:
    return lambda store: store.import_folder(dump(folder / "dump", "LibreChat", collections))


def of_compressed_bson(folder: Path, collections: Collections, live: str) -> Any:
    place = dump(folder / "dump", "LibreChat", collections)
    for file in place.rglob("*.bson"):
        file.with_suffix(".bson.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    return lambda store: store.import_folder(place)


def of_archive(folder: Path, collections: Collections, live: str) -> Any:
    return lambda store: store.import_conversations(archive("LibreChat", collections))


def of_exports(folder: Path, collections: Collections, live: str) -> Any:
    (folder / "out").mkdir()
    for number, (name, held) in enumerate(sorted(collections.items(), reverse=True)):
        text = exported(held, canonical=name == "messages", array=name == "conversations")
        (folder / "out" / f"{number}.txt").write_text(text)
    return lambda store: store.import_folder(folder / "out")


def of_live(folder: Path, collections: Collections, live: str) -> Any:
    return lambda store: store.import_database(live)


FORMS = (of_bson, of_compressed_bson, of_archive, of_exports, of_live)


@pytest.mark.parametrize(
    ("form", "after"),
    list(zip(FORMS, (*FORMS[1:], FORMS[0]), strict=True)),
    ids=lambda form: form.__name__[3:],
)
def test_one_conversation_is_the_same_in_every_form(
    store: ConversationStore, source: Database[Any], live: str, tmp_path: Path, form: Any, after: Any
) -> None:
    collections = librechat()
    fill(source, collections)
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    report = form(tmp_path / "one", collections, live)(store)
    assert counts(report) == LIBRECHAT, report.to_json()
    assert report.format == "librechat"
    stored, before = texts(store), versions(store)
    assert stored["c1"] == [
        ("user", "question 0", BEGUN_MS),
        ("assistant", "answer 0", BEGUN_MS + 2000),
        ("user", "question 1", BEGUN_MS + 3000),
        ("assistant", "answer 1", BEGUN_MS + 5000),
    ]
    assert stored["c1/c1-b0"][-1] == ("assistant", "other answer 0", BEGUN_MS + 1000)
    again = after(tmp_path / "two", collections, live)(store)
    assert counts(again) == {"read": 9, "unchanged": 9, "branches": 6, "messages": 18}
    assert texts(store) == stored and versions(store) == before


@pytest.mark.parametrize("form", [of_bson, of_live], ids=lambda form: form.__name__[3:])
def test_what_grew_is_added_and_nothing_else_touched(
    store: ConversationStore, source: Database[Any], live: str, tmp_path: Path, form: Any
) -> None:
    collections = librechat()
    fill(source, collections)
    form(tmp_path, collections, live)(store)
    stored = texts(store)
    answer = {**collections["messages"][-1], "_id": object_id(77, 90), "messageId": "c2-u2", "text": "more?",
              "parentMessageId": "c2-a1", "isCreatedByUser": True, "createdAt": at(90)}  # fmt: skip
    fill(source, {"messages": [answer]})
    collections["messages"].append(answer)
    (tmp_path / "later").mkdir()
    report = form(tmp_path / "later", collections, live)(store)
    assert counts(report) == {"read": 9, "updated": 1, "unchanged": 8, "branches": 6, "messages": 19}
    grown = texts(store)
    assert grown.pop("c2") == [*stored.pop("c2"), ("user", "more?", BEGUN_MS + 90_000)]
    assert grown == stored


def test_a_file_of_messages_alone_is_read(store: ConversationStore) -> None:
    report = store.import_conversations(exported(librechat()["messages"]).encode(), file="messages.json")
    assert counts(report) == LIBRECHAT


def test_chat_ui_documents_in_every_form(
    store: ConversationStore, source: Database[Any], live: str, tmp_path: Path
) -> None:
    collections = chat_ui()
    fill(source, collections)
    report = store.import_database(live)
    assert counts(report) == {"read": 4, "imported": 4, "branches": 2, "messages": 8}
    stored, before = texts(store), versions(store)
    first = str(object_id(0))
    assert [text for _, text, _ in stored[first]] == ["be brief", "hi", "hello"]
    assert stored[first][2] == ("assistant", "hello", BEGUN_MS + 3000)
    assert {head.user for head in store.scan(user=ALL_USERS)} == {str(object_id(7))}
    for again in (
        store.import_folder(dump(tmp_path, "chat-ui", collections)),
        store.import_conversations(exported(collections["conversations"], canonical=True).encode()),
        store.import_conversations(exported(collections["conversations"], array=True).encode()),
    ):
        assert counts(again) == {"read": 4, "unchanged": 4, "branches": 2, "messages": 8}
    assert texts(store) == stored and versions(store) == before


OTHERS = {
    "langchain": (langchain(), {"read": 2, "imported": 2, "messages": 6}),
    "langchain of other names": (
        langchain(session_key="chat", history_key="said"),
        {"read": 2, "imported": 2, "messages": 6},
    ),
    "openai-agents": (openai_agents(), {"read": 3, "imported": 3, "messages": 7}),
    "langgraph": (langgraph(), {"read": 4, "imported": 4, "branches": 2, "messages": 6}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_programs_live_then_dumped_then_archived(
    store: ConversationStore, source: Database[Any], live: str, tmp_path: Path, name: str
) -> None:
    collections, expected = OTHERS[name]
    fill(source, collections)
    report = store.import_database(live, user="alice")
    assert (report.format, counts(report)) == (name.split()[0], expected), report.to_json()
    before = versions(store)
    for again in (
        store.import_folder(dump(tmp_path, "x", collections), user="alice"),
        store.import_conversations(archive("x", collections), user="alice"),
    ):
        assert counts(again) == {**{k: n for k, n in expected.items() if k != "imported"},
                                 "unchanged": expected["imported"]}  # fmt: skip
    assert versions(store) == before
    with pytest.raises(InvalidRecordError, match="names no user"):
        store.import_database(live)


def test_messages_of_other_programs_are_in_order_with_their_times(
    store: ConversationStore, source: Database[Any], live: str
) -> None:
    fill(source, langchain())
    store.import_database(live, user="alice")
    second = BEGUN_MS // 1000 * 1000
    assert texts(store)["session-1"] == [
        ("user", "hi", second),
        ("assistant", "hello", second + 1000),
        ("user", "bye", second + 2000),
    ]


def test_langgraph_threads_keep_what_forks_and_when_each_message_came(
    store: ConversationStore, source: Database[Any], live: str
) -> None:
    fill(source, langgraph(1))
    store.import_database(live, user="alice")
    stored = texts(store)
    assert stored.pop("t0") == [("user", "hi", BEGUN_MS), ("assistant", "hello", BEGUN_MS + 2000)]
    assert list(stored.values()) == [[("user", "hi", BEGUN_MS), ("assistant", "no", BEGUN_MS + 1000)]]


@pytest.mark.parametrize("form", ["live", "dumped"])
def test_files_of_chat_ui_come_along_from_gridfs(
    store: ConversationStore, source: Database[Any], live: str, tmp_path: Path, form: str
) -> None:
    data = b"\x89PNG bytes" * 100
    fill(source, chat_ui(1, files=[{"type": "hash", "name": "a.png", "value": "ab12", "mime": "image/png"}]))
    bucket = GridFSBucket(source, "files", chunk_size_bytes=400)
    bucket.upload_from_stream(f"{object_id(0)}-ab12", b"an older one")
    bucket.upload_from_stream(f"{object_id(0)}-ab12", data)
    if form == "live":
        report = store.import_database(live)
    else:
        held = {name: list(source[name].find()) for name in source.list_collection_names()}
        report = store.import_folder(dump(tmp_path, "chat-ui", held))
    assert report.resources == 1
    (head,) = [head for head in store.scan(user=ALL_USERS) if head.source and "/" not in head.source.id]
    (reference,) = store.get(head.id).resources
    kept = store.resources.get(reference.id, user=head.user)
    assert kept is not None and kept.blob == data


def test_the_source_is_only_read(store: ConversationStore, source: Database[Any], live: str) -> None:
    fill(source, librechat())
    before = {name: list(source[name].find()) for name in sorted(source.list_collection_names())}
    source.command("profile", 2)
    assert counts(store.import_database(live)) == LIBRECHAT
    source.command("profile", 0)
    done = [one["command"] for one in source["system.profile"].find({"command.comment": "import"})]
    assert done and {next(iter(command)) for command in done} <= {"find", "getMore"}
    written = {"op": {"$in": ["insert", "update", "remove"]}}
    assert source["system.profile"].count_documents(written) == 0
    source.drop_collection("system.profile")
    assert {name: list(source[name].find()) for name in sorted(source.list_collection_names())} == before


# Which program it is


def test_several_programs_in_one_database_are_named(
    store: ConversationStore, source: Database[Any], live: str
) -> None:
    fill(source, librechat())
    fill(source, {"chats": chat_ui()["conversations"]})
    with pytest.raises(ImportFormatError, match=r"chat-ui .*\.chats\) and librechat .*format="):
        store.import_database(live)
    assert counts(store.import_database(live, format="librechat")) == LIBRECHAT
    assert counts(store.import_database(live, format="chat-ui"))["imported"] == 4


def test_several_collections_of_one_kind_need_a_name(
    store: ConversationStore, source: Database[Any], live: str
) -> None:
    fill(source, {"old": chat_ui(1)["conversations"], "new": chat_ui(3)["conversations"]})
    with pytest.raises(ImportFormatError, match=r"say which with collection="):
        store.import_database(live)
    assert counts(store.import_database(live, collection="new"))["read"] == 6


def test_database_without_conversations_says_what_is_there(
    store: ConversationStore, source: Database[Any], live: str
) -> None:
    fill(source, {"things": [{"a": 1}]})
    with pytest.raises(ImportFormatError, match=rf"there is {source.name}\.things"):
        store.import_database(live)
    with pytest.raises(ImportFormatError, match="chatgpt is read from no database"):
        store.import_database(live, format="chatgpt")
    with pytest.raises(QueryError):
        store.import_database(live, format="nothing")


def test_dump_without_conversations_says_what_is_there(store: ConversationStore, tmp_path: Path) -> None:
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "notes.txt").write_text("hello")
    with pytest.raises(ImportFormatError, match=r"there is x/things\.bson"):
        store.import_folder(dump(tmp_path, "x", {"things": [{"a": 1}]}))


def test_the_secret_of_the_uri_is_nowhere(
    store: ConversationStore, source: Database[Any], replica_set: Server, live: str
) -> None:
    fill(source, librechat(1))
    assert replica_set.password is not None
    report = store.import_database(live)
    assert replica_set.password not in str(report.to_json())
    (file,) = {head.source.file for head in store.scan(user=ALL_USERS) if head.source is not None}
    assert file == f"{source.name}.conversations"
    for wrong in (
        live.replace(replica_set.password, "geheim"),
        "mongodb://me:geheim@127.0.0.1:1/x?serverSelectionTimeoutMS=50",
        "mongodb://me:geheim@[::1/x",
        "geheim://x",
    ):
        with pytest.raises(UnavailableError) as caught:
            store.import_database(wrong)
        assert "geheim" not in str(caught.value)


# What is broken


def test_a_broken_document_stops_nothing(store: ConversationStore, tmp_path: Path) -> None:
    collections = librechat()
    place = dump(tmp_path, "LibreChat", collections) / "LibreChat" / "messages.bson"
    data = bytearray(place.read_bytes())
    found = data.index(b"question 0")
    data[found : found + 2] = b"\xff\xfe"
    place.write_bytes(bytes(data) + data[:40])
    report = store.import_folder(tmp_path)
    assert report.failed == 2 and [problem.kind for problem in report.problems] == ["failed", "failed"]
    assert {problem.position for problem in report.problems} == {
        "LibreChat/messages.bson: [0]",
        "LibreChat/messages.bson: [18]",
    }
    assert report.notes[-1] == "LibreChat/users.bson: no conversations; left out"
    assert report.read == 9 + 2 and len(texts(store)["c2"]) == 4


@pytest.mark.parametrize("cut", [3, 40, 2_000])
def test_a_cut_archive_gives_what_is_there(store: ConversationStore, cut: int) -> None:
    data = archive("LibreChat", librechat())
    report = store.import_conversations(data[:-cut])
    assert report.imported and (cut == 3 or report.failed or report.error)


def test_odd_documents_in_a_live_collection_are_reported(
    store: ConversationStore, source: Database[Any], live: str
) -> None:
    collections = librechat()
    fill(source, collections)
    fill(source, {"messages": [{**collections["messages"][0], "_id": object_id(5), "conversationId": [1]},
                               {"_id": object_id(6), "note": "x"}]})  # fmt: skip
    report = store.import_database(live)
    assert counts(report) == {**LIBRECHAT, "read": 11, "failed": 2}
    assert [problem.id for problem in report.problems] == [str(object_id(6)), str(object_id(5))]


def test_users_that_nobody_names_must_be_given(
    store: ConversationStore, source: Database[Any], live: str
) -> None:
    collections = librechat(1)
    for document in (*collections["conversations"], *collections["messages"]):
        del document["user"]
    fill(source, collections)
    assert counts(store.import_database(live))["failed"] == 1
    assert counts(store.import_database(live, user="alice"))["imported"] == 3


@pytest.mark.parametrize("user", [None, "", {"$ne": None}, 5, True, ["alice"], "a\0"])
def test_no_user_that_is_none_gets_as_far_as_the_source(store: ConversationStore, user: Any) -> None:
    with pytest.raises(InvalidRecordError, match="user"):
        store.import_database("mongodb://127.0.0.1:1/", user=user)


def test_another_users_import_of_the_same_source_stays_apart(
    store: ConversationStore, source: Database[Any], live: str
) -> None:
    fill(source, librechat(1))
    store.import_database(live, user="alice")
    before = versions(store)
    assert counts(store.import_database(live, user="bob"))["imported"] == 3
    assert [one for one in versions(store) if one in before] == before
    assert store.count(user="bob") == 3


def test_the_asynchronous_face_does_the_same(
    replica_set: Server,
    database_name: str,
    store: ConversationStore,
    source: Database[Any],
    live: str,
    tmp_path: Path,
) -> None:
    fill(source, librechat())

    async def import_both() -> list[ImportReport]:
        async with AsyncConversationStore.connect(replica_set.uri(database_name)) as opened:
            one = await opened.import_database(live)
            return [one, await opened.import_folder(dump(tmp_path, "LibreChat", librechat()))]

    first, second = asyncio.run(import_both())
    assert counts(first) == LIBRECHAT and counts(second)["unchanged"] == 9


def test_dry_run_writes_nothing(store: ConversationStore, source: Database[Any], live: str) -> None:
    fill(source, librechat())
    assert counts(store.import_database(live, dry_run=True)) == LIBRECHAT
    assert versions(store) == []


def test_branches_may_be_left_out(store: ConversationStore, source: Database[Any], live: str) -> None:
    fill(source, librechat())
    report = store.import_database(live, branches="active")
    assert counts(report) == {"read": 9, "imported": 3, "skipped": 6, "branches": 6, "messages": 12}
