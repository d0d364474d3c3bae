"""What ``stats`` gives out: files, pictures, charts, the report; what it does not need it does not load."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from convostore.schemas import Conversation
from convostore.store import ALL_USERS, ConversationStore, to_arrow
from support.command_line import COMMAND, Command
from support.servers import Server

ZONE = "Australia/Lord_Howe"
# 2026-04-04 13:30 UTC: the clock goes back an hour and a half later.
START = 1_775_309_400_000


@pytest.fixture
def store(replica_set: Server, database_name: str) -> Iterator[ConversationStore]:
    now = iter(range(START, START + 10**9, 3_600_000))
    with replica_set.client() as client:
        made = ConversationStore(client[database_name], clock=lambda: next(now))
        made.setup()
        for user in ("alice", "<b>bob</b>"):
            kept = made.create(Conversation(user=user, label='travel, "far"'))
            for tokens in (1200, 0, 800):
                usage = {"input_tokens": tokens, "output_tokens": 50, "requests": 1}
                made.append(kept.id, {"role": "assistant", "content": "x"}, usage=usage)
        yield made


def test_a_file_holds_the_rows_of_the_library(convostore: Command, store: ConversationStore) -> None:
    rows = store.analytics.usage(user=ALL_USERS, by="hour", tz=ZONE)
    assert len(rows) > 5
    done = convostore.fine("stats", "usage", "--by", "hour", "--tz", ZONE, "--out", "rows.parquet")
    assert done.out == "" and done.err == f"wrote {len(rows)} rows to rows.parquet\n"
    table = parquet.read_table(convostore.folder / "rows.parquet")
    assert table.equals(to_arrow(rows, zone=ZONE))
    assert table.schema.field("start").type == pyarrow.timestamp("ms", ZONE)


def test_csv_of_lists_and_odd_names_can_be_read_back(convostore: Command, store: ConversationStore) -> None:
    made = store.create(Conversation(user="carol"))
    store.set_status(made.id, "failed", reason='no "credit", none')
    rows = list(csv.DictReader(io.StringIO(convostore.fine("stats", "failures", "--csv").out)))
    assert json.loads(rows[-1]["reasons"]) == [{"reason": 'no "credit", none', "failures": 1}]
    tops = list(csv.DictReader(io.StringIO(convostore.fine("stats", "top", "labels", "--csv").out)))
    assert [row["name"] for row in tops] == ['travel, "far"', ""]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["usage", "--plot", "rows.pdf", "--csv"], "--plot: rows.pdf does not end with .png or .svg"),
        (["report", "--out", "page.pdf"], "--out: page.pdf does not end with .html"),
    ],
    ids=["plot", "report"],
)
def test_what_cannot_be_written_is_told_before_anything_is_asked(
    tmp_path: Path, arguments: list[str], said: str
) -> None:
    found = Command("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100", tmp_path)("stats", *arguments)
    assert found.code == 2 and found.out == "" and said in found.err
    assert list(tmp_path.iterdir()) == []


def test_a_picture_lies_beside_what_is_printed(convostore: Command, store: ConversationStore) -> None:
    done = convostore.fine("stats", "heatmap", "--tz", ZONE, "--plot", "HOURS.SVG")
    assert "\nSun " in done.out and done.err == "drew HOURS.SVG\n"
    svg = (convostore.folder / "HOURS.SVG").read_text("utf-8")
    assert "<svg" in svg and ZONE in svg
    nothing = convostore("stats", "usage", "--user", "nobody", "--plot", "nothing.png")
    assert nothing.code == 1 and "nothing to draw" in nothing.err
    assert not (convostore.folder / "nothing.png").exists()


def test_a_chart_fits_the_width_and_has_colours_on_a_terminal_only(
    convostore: Command, store: ConversationStore
) -> None:
    arguments = [COMMAND, "stats", "usage", "--by", "hour", "--tz", ZONE, "--chart"]

    def on_terminal(**more: str) -> str:
        ours, theirs = pty.openpty()
        environment = convostore.environ(TERM="xterm-256color", **more)
        with subprocess.Popen(arguments, stdout=theirs, env=environment) as process:
            os.close(theirs)
            said = b""
            try:
                while block := os.read(ours, 4096):
                    said += block
            except OSError:
                pass  # the other end is closed
        os.close(ours)
        assert process.returncode == 0
        return said.decode()

    assert "\x1b[36m" in on_terminal(COLUMNS="60")
    assert "\x1b[36m" not in on_terminal(COLUMNS="60", NO_COLOR="1")
    piped = convostore("stats", "usage", "--by", "hour", "--tz", ZONE, "--chart", env={"COLUMNS": "40"})
    assert piped.code == 0 and "\x1b" not in piped.out and "█" in piped.out
    assert max(map(len, piped.lines)) <= 40
    assert f"times in {ZONE}" in piped.out


def test_a_users_report_has_that_users_numbers_and_loads_nothing(
    convostore: Command, store: ConversationStore
) -> None:
    done = convostore.fine(
        "stats", "report", "--user", "alice", "--by", "hour", "--tz", ZONE, "--out", "page.html"
    )
    assert done.out == "" and done.err == "wrote page.html\n"
    page = (convostore.folder / "page.html").read_text("utf-8")
    rows = store.analytics.usage(user="alice", by="hour", tz=ZONE)
    assert f"<dd>{sum(row.input_tokens for row in rows):,}</dd>" in page
    assert all(f"<td>{row.label}</td>" in page for row in rows if row.messages)
    assert f"times in {ZONE}, by hour" in page and "user alice" in page
    assert "http:" not in page and "https:" not in page and "<script" not in page
    assert page.count("<svg ") == 12 and "bob" not in page
    nothing = convostore("stats", "report", "--user", "nobody", "--out", "nothing.html")
    assert nothing.code == 1 and "nothing to report" in nothing.err
    assert not (convostore.folder / "nothing.html").exists()


def test_figures_without_a_picture_load_no_library_for_one(
    convostore: Command, store: ConversationStore
) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", COMMAND, "stats", "usage", "--json"],
        capture_output=True,
        text=True,
        env=convostore.environ(),
    )
    assert done.returncode == 0
    loaded = {line.split("|")[-1].strip() for line in done.stderr.splitlines()}
    assert "pymongo" in loaded
    assert not {"matplotlib", "pyarrow", "jinja2", "numpy", "rich.console"} & loaded
