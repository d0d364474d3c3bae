"""``migrate status`` and ``migrate run``, as an operator and as a program sees them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo.database import Database

from convostore.store.layout import SCHEMA_VERSION
from support.command_line import Command
from support.older_documents import Document, anda, invalid_records, load, put
from support.servers import Server


@pytest.fixture
def database(replica_set: Server, database_name: str) -> Iterator[Database[Document]]:
    with replica_set.client() as client:
        yield client[database_name]


def test_a_database_of_the_first_release_is_shown_and_migrated(
    convostore: Command, database: Database[Document]
) -> None:
    load(database, bare=False)
    shown = convostore.fine("migrate", "status").lines
    assert shown[0] == f"the database: schema version 1; this release writes {SCHEMA_VERSION}"
    assert shown[1] == "conversations of version 1: 13" and shown[-1] == "run: convostore migrate run"
    assert "wait: see convostore migrate status" in convostore.fine("init").out
    before = list(database.conversations.find())
    tried = convostore.fine("migrate", "run", "--dry-run")
    assert "13 examined, 13 would be migrated" in tried.out and "schema version 1" in tried.out
    assert list(database.conversations.find()) == before
    done = convostore.fine("migrate", "run", "--json").json
    assert done["done"] and (done["examined"], done["migrated"], done["refused"]) == (13, 13, 0)
    assert done["version"] == done["target"] == SCHEMA_VERSION and done["refusals"] == []
    told = convostore.fine("migrate", "status", "--json").json
    assert told["documents"] == {str(SCHEMA_VERSION): 13} and not told["pending"] and not told["running"]
    assert [step["waiting"] for step in told["steps"]] == [0] * SCHEMA_VERSION
    assert "fine" in convostore.fine("doctor").out


def test_documents_that_stay_as_they_are_are_named_and_end_in_exit_code_1(
    convostore: Command, database: Database[Document]
) -> None:
    bad = invalid_records()
    put(database, [anda(601), *bad.values()])
    told = convostore("init")
    assert told.code == 1 and told.err.count("\n") == 1 and "convostore migrate run" in told.err
    done = convostore("migrate", "run")
    assert done.code == 1 and "8 examined, 1 migrated, 7 left as they are" in done.out
    assert "left as it is: 702: user: is missing" in done.lines
    as_json = convostore("migrate", "run", "--json")
    assert as_json.code == 1 and not as_json.json["done"] and as_json.json["refused"] == len(bad)
    doctor = convostore("doctor", "--json")
    assert doctor.code == 1
    assert [one["kind"] for one in doctor.json["findings"]] == ["foreign"] * len(bad)


def test_the_phases_and_the_version_are_chosen(convostore: Command, database: Database[Document]) -> None:
    put(database, [anda(601), anda(602)])
    early = convostore("migrate", "run", "--phase", "post")
    assert early.code == 1 and "run the pre phase first" in early.err
    pre = convostore.fine("migrate", "run", "--phase", "pre")
    assert "2 wait for the post phase" in pre.out and "schema version 0" in pre.out
    first = convostore.fine("migrate", "run", "--to", 1, "--json").json
    assert (first["migrated"], first["version"]) == (2, 1)
    assert convostore.fine("migrate", "run", "--phase", "post", "--json").json["version"] == SCHEMA_VERSION
    back = convostore("migrate", "run", "--to", 1)
    assert back.code == 2 and "no way back" in back.err
    assert convostore("migrate", "run", "--phase", "middle").code == 2


@pytest.mark.parametrize(
    "command", [["migrate", "status"], ["migrate", "run"], ["init"], ["list"], ["doctor"]]
)
def test_every_command_refuses_a_newer_database_and_says_what_to_do(
    convostore: Command, database: Database[Document], command: list[str]
) -> None:
    database.meta.insert_one({"_id": "schema", "version": SCHEMA_VERSION + 1, "digest": "newer"})
    refused = convostore(*command)
    assert refused.code == 1 and refused.out == ""
    assert refused.err.count("\n") == 1 and "upgrade convostore; nothing was changed" in refused.err
    assert database.list_collection_names() == ["meta"]
    told: Any = convostore(*command, "--json")
    assert '"SchemaVersionError"' in told.err and told.code == 1
