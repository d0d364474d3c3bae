"""Messages as rows, and those rows in a Parquet file as pyarrow reads it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from pyarrow import parquet

from convostore.schemas.entries import Source
from convostore.schemas.formats.message_rows import ROW, rows
from convostore.schemas.formats.outgoing import Fork, Losses
from convostore.schemas.json_values import same_json
from convostore.store import message_tables
from convostore.store.message_tables import MessageTable
from support.exporting import ANDA, ANTHROPIC, NOON, OPENAI, PNG, outgoing

ODD: list[Any] = [None, "x", {"role": "user", "content": "a\ud800b"}, {"role": "user", "content": ["x", [1]]}]


def table(*conversations: Any, notes: list[str] | None = None) -> list[dict[str, Any]]:
    """What a file of the conversations holds, read back."""
    file = io.BytesIO()
    losses = Losses("parquet", (notes if notes is not None else []).append)
    with MessageTable(file.write) as written:
        for given in conversations:
            for row in rows(given, losses):
                assert list(row) == list(ROW)
                written.add(row)
    file.seek(0)
    found: list[dict[str, Any]] = parquet.read_table(file).to_pylist()
    return found


@pytest.mark.parametrize("messages", [ANDA, OPENAI, ANTHROPIC, ODD], ids=range(4))
def test_every_message_is_a_row_that_holds_it_whole(messages: list[Any]) -> None:
    found = table(outgoing(messages))
    assert same_json([json.loads(row["message"]) for row in found], messages)
    assert [row["position"] for row in found] == [row["entry"] for row in found] == list(range(len(messages)))
    assert {row["conversation"] for row in found} == {17}


def test_parts_are_nested_and_nothing_of_them_is_lost() -> None:
    given = outgoing(
        ANDA, extra={"title": "T"}, source=Source("chatgpt", "g"), forked_from=Fork(2**64 - 1, 3)
    )
    found = table(given)
    kinds = [[part["kind"] for part in row["parts"]] for row in found]
    assert kinds == [
        ["text"], ["text", "data", "file", "file"], ["reasoning", "text", "tool_call", "tool_call"],
        ["tool_output"], ["tool_output"], ["text", "other", "other"], [],
    ]  # fmt: skip
    second, third, fifth = found[1], found[2], found[4]
    assert (second["role"], second["name"], second["text"]) == ("user", "Al", "What is on\nthis picture?")
    assert second["parts"][1]["data"] == PNG and second["parts"][2]["uri"] == "urn:photo"
    assert (second["author_kind"], second["author_name"]) == ("plugin", "memory")
    assert second["made"].timestamp() * 1000 == NOON + 1 and third["made"] is None
    assert third["thoughts"] == "A cat? Let me *look*."
    assert third["parts"][2]["arguments"] == '{"at":[1,2.0],"deep":null}'
    assert (fifth["parts"][0]["is_error"], fifth["parts"][0]["output"]) == (True, "no zoom")
    assert found[5]["parts"][1]["json"] == '{"type":"hologram","layers":[1,null]}'
    assert (second["title"], second["source_format"], second["forked_from"]) == ("T", "chatgpt", 2**64 - 1)


def test_what_a_column_cannot_hold_is_noted_and_whole_in_the_message() -> None:
    notes: list[str] = []
    late = outgoing([{"role": "user", "content": "\ud83d"}], created_at=2**64 - 1)
    (row,) = table(late, outgoing([]), notes=notes)
    assert (row["text"], row["message"]) == ("\ufffd", '{"role":"user","content":"\\ud83d"}')
    assert row["conversation_created_at"] is None
    assert set(notes) == {
        "times beyond 2^63 milliseconds are missing",
        "halves of surrogate pairs are U+FFFD in texts and parts",
        "conversations without messages have no row",
    }


def test_rows_are_written_in_groups_and_an_empty_file_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_tables, "GROUP_BYTES", 200)
    file = io.BytesIO()
    with MessageTable(file.write) as written:
        for row in rows(outgoing([{"role": "user", "content": "x" * 60}] * 20), Losses("parquet", print)):
            written.add(row)
    assert parquet.ParquetFile(file).metadata.num_row_groups == 7
    assert table() == []


def test_a_failure_is_not_hidden_by_the_file() -> None:
    with pytest.raises(ZeroDivisionError), MessageTable(io.BytesIO().write):
        raise ZeroDivisionError
