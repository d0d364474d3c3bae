"""Fixtures of all formats, changed at random, through a store: sums hold, repeats do nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pymongo import MongoClient

from convostore.store import ConversationStore
from support.accounts import Account, assert_adds_up, same
from support.branched_exports import contents
from support.command_log import CommandLog
from support.format_fixtures import FIXTURES, Fixture
from support.importing import changed
from support.scale import SCALE
from support.servers import Server

READS = {"find", "aggregate", "getMore", "count", "killCursors"}
EXAMPLES = max(2, round(200 * SCALE))

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def log() -> CommandLog:
    """What is sent by the store of ``place``."""
    return CommandLog()


@pytest.fixture(scope="module")
def place(replica_set: Server, log: CommandLog) -> Iterator[ConversationStore]:
    with MongoClient[dict[str, Any]](replica_set.uri(), event_listeners=[log]) as client:
        name = "changed_imports"
        client.drop_database(name)
        opened = ConversationStore(client[name])
        opened.setup()
        yield opened
        client.drop_database(name)


@pytest.mark.parametrize("fixture", FIXTURES.values(), ids=FIXTURES)
@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), report_multiple_bugs=False
)
@given(data=st.data())
def test_changed_records_are_taken_or_named_once(
    place: ConversationStore, log: CommandLog, fixture: Fixture, data: st.DataObject
) -> None:
    value = data.draw(changed(fixture.value))
    source = fixture.written(value)
    account = Account(place, f"importer {next(_numbers)}")
    with_branches = data.draw(st.sampled_from(["all", "active"]))

    log.clear()
    tried = account.take(source, format=fixture.format, dry_run=True, branches=with_branches)
    written = set(log.names) - READS
    report = account.take(source, format=fixture.format, branches=with_branches)

    assert not written, "a dry run wrote"
    assert same(tried, report)
    assert_adds_up(report)
    assert report.read >= (1 if fixture.is_lines else 2) or value == []
    assert len(account.heads()) == report.imported
    found = place.check(user=account.user)
    assert found, found.findings
    before = contents(place, account.user)

    again = account.take(source, format=fixture.format, branches=with_branches)

    assert_adds_up(again)
    assert (again.imported, again.updated, again.read) == (0, 0, report.read)
    assert contents(place, account.user) == before
