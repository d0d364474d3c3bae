"""``stats``: every question on the command line, as a table, as JSON, as CSV, with costs."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from convostore.schemas.conversations import Conversation
from convostore.store import ALL_USERS, ConversationStore
from support.command_line import Command

SERIES = {
    "usage": "input_tokens",
    "conversations": "created",
    "users": "new",
    "messages": "appends",
    "status": "completed",
    "failures": "failures",
    "queues": "waits",
    "durations": "answered",
}
PRICES = """
currency = "EUR"
[[versions]]
valid_from = 2020-01-01
[versions.models."small"]
input = 2
output = "8.50"
"""


@pytest.fixture
def used(store: ConversationStore) -> ConversationStore:
    for user, model in (("alice", "small"), ("bob", None)):
        made = store.create(Conversation(user=user, label="travel", messages=[{"role": "user"}]))
        store.set_status(made.id, "working")
        usage = {"input_tokens": 1_000_000, "output_tokens": 2_000, "requests": 1}
        store.append(made.id, {"role": "assistant"}, usage=usage, model=model, status="completed")
    return store


@pytest.mark.parametrize("command", SERIES)
def test_every_series_says_its_zone_and_periods(
    convostore: Command, used: ConversationStore, command: str
) -> None:
    member = SERIES[command]
    answer = convostore.fine("stats", command, "--by", "month", "--tz", "Asia/Kolkata", "--json").json
    assert (answer["zone"], answer["by"]) == ("Asia/Kolkata", "month")
    (row,) = answer["rows"]
    assert {"start", "label", member} <= row.keys()


def test_a_table_and_csv_say_the_same(convostore: Command, used: ConversationStore) -> None:
    text = convostore.fine("stats", "messages", "--by", "month", "--csv", "--user", "alice").out
    (line,) = csv.DictReader(io.StringIO(text))
    assert (line["messages"], line["appends"]) == ("2", "2")
    table = convostore.fine("stats", "messages", "--since", "30d", "--user", "alice").out.splitlines()
    assert table[0].startswith("PERIOD") and table[-1].split()[1:3] == ["2", "2"]


def test_json_is_what_the_library_says(convostore: Command, used: ConversationStore) -> None:
    (row,) = used.analytics.usage(user=ALL_USERS, by="day")
    (shown,) = convostore.fine("stats", "usage", "--json").json["rows"]
    assert (shown["start"], shown["label"]) == (row.start, row.label)
    assert (shown["conversations"], shown["users"], shown["messages"]) == (2, 2, 4)
    assert (shown["input_tokens"], shown["output_tokens"], shown["requests"]) == (2_000_000, 4_000, 2)


def test_costs_follow_the_price_table_and_unknown_models_are_unpriced(
    convostore: Command, used: ConversationStore, tmp_path: Path
) -> None:
    (tmp_path / "prices.toml").write_text(PRICES)
    answer = convostore.fine("stats", "usage", "--prices", str(tmp_path / "prices.toml"), "--json").json
    assert answer["currency"] == "EUR"
    assert (answer["rows"][0]["cost"], answer["rows"][0]["unpriced"]) == (2.017, 1_002_000)
    table = convostore.fine("stats", "usage", "--prices", str(tmp_path / "prices.toml")).out
    assert "1,002,000 tokens have no price" in table
    rows = convostore.fine(
        "stats", "top", "models", "--order", "cost", "--prices", str(tmp_path / "prices.toml"), "--json"
    ).json["rows"]
    assert [(row["name"], row["cost"], row["unpriced"]) for row in rows] == [
        ("small", 2.017, 0),
        (None, 0.0, 1_002_000),
    ]


def test_rankings_heat_waiting_and_roll_ups(convostore: Command, used: ConversationStore) -> None:
    rows = convostore.fine("stats", "top", "users", "--order", "messages", "--json").json["rows"]
    assert [(row["name"], row["messages"]) for row in rows] == [("alice", 2), ("bob", 2)]
    cells = convostore.fine("stats", "heatmap", "--json").json["rows"]
    assert len(cells) == 168 and sum(cell["messages"] for cell in cells) == 4
    used.steer(used.find(user="bob").items[0].id, "use the train")
    waits = convostore.fine("stats", "waiting", "--json").json["rows"]
    assert {row["queue"]: row["waiting"] for row in waits} == {"submitted": 0, "steering": 1, "follow_up": 0}
    assert convostore.fine("stats", "rollup", "--json").json == {"conversations": 0, "rebuilt": False}
    assert convostore.fine("stats", "rollup", "--rebuild").out == "rolled up 2 conversations\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["usage", "--by", "year"],
        ["usage", "--tz", "Mars/Phobos"],
        ["usage", "--prices", "nowhere.toml"],
        ["top", "cities"],
        ["top", "models", "--order", "cost"],
        ["top", "models", "--limit", "0"],
        ["heatmap", "--what", "weather"],
        ["usage", "--since", "2026-03-09", "--until", "2026-03-08"],
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_told_in_one_line(convostore: Command, arguments: list[str]) -> None:
    done = convostore("stats", *arguments)
    assert done.code in (1, 2) and done.out == ""
    assert "Traceback" not in done.err
