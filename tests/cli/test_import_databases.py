"""``import`` of folders and of live databases: what is said, kept secret, and how it ends."""

from __future__ import annotations

from pathlib import Path

from support.andadb import FRESH, collection, conversation, indexes, write_wrapped
from support.command_line import Command
from support.foreign_databases import chat_ui, dump, fill, librechat
from support.servers import Server


def test_dump_then_live_database_by_a_file_with_the_uri(
    convostore: Command, replica_set: Server, database_name: str
) -> None:
    folder: Path = dump(convostore.folder / "dump", "LibreChat", librechat())
    first = convostore.fine("import", folder)
    assert first.lines[0] == "read 9 conversations, 6 of them branches, with 18 messages; 9 imported"
    name = f"{database_name}_src"
    with replica_set.client() as client:
        fill(client[name], librechat())
        (convostore.folder / "uri").write_text(replica_set.uri(name))
        again = convostore.fine("import", "--from-uri-file", "uri", "--json").json
        assert (again["unchanged"], again["files"][0]["format"]) == (9, "librechat")
        assert again["files"][0]["file"] == f"mongodb://{replica_set.address}/{name}"
        fill(client[name], {"chats": chat_ui()["conversations"]})
        doubtful = convostore("import", replica_set.uri(name))
        assert doubtful.code == 1 and "say which with format= (--format)" in doubtful.err
        assert convostore.fine("import", replica_set.uri(name), "--format", "librechat").code == 0
        client.drop_database(name)


def test_data_directory_of_andadb(convostore: Command) -> None:
    documents = [conversation(1), conversation(2)]
    write_wrapped(convostore.folder / "db", collection("agent/bot", indexes(FRESH), documents))
    for _ in range(2):
        told = convostore.fine("import", "db", "--json").json
        assert (told["read"], told["files"][0]["format"]) == (2, "anda")
    assert told["unchanged"] == 2
    chosen = convostore("import", "db", "--collection", "other")
    assert chosen.code == 1 and "there is bot" in chosen.err


def test_server_that_is_not_there_and_a_folder_of_nothing(convostore: Command) -> None:
    gone = convostore("import", "mongodb://me:geheim@127.0.0.1:1/x?serverSelectionTimeoutMS=20")
    assert gone.code == 1 and "geheim" not in gone.err + gone.out and gone.err.count("\n") == 1
    (convostore.folder / "empty").mkdir()
    nothing = convostore("import", "empty", "--user", "alice")
    assert nothing.code == 1 and "no saved session" in nothing.err
