"""The table of the run's figures, printed at its end, and what every benchmark works with.

Benchmarks run under ``-m benchmark`` or when they are named; a plain run leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pymongo import MongoClient, WriteConcern
from pymongo.collection import Collection
from pymongo.database import Database

from convostore.store import ConversationStore
from support.measuring import Figures
from support.scale import SCALE
from support.servers import Server

Document = dict[str, Any]

_figures = Figures()


@pytest.fixture
def figures() -> Figures:
    """Where a benchmark puts its figures."""
    return _figures


@dataclass(frozen=True, slots=True)
class Bench:
    """An empty store, and the collection of one document per message that it is compared with.

    ``bare`` has the index by conversation and number that reading a conversation needs. It writes as the
    driver does by default: on a replica set ``w: majority``, which waits for the journal; on a standalone
    ``w: 1``, which does not. ``durable`` is the same with the store's own ``w: majority, j: true``.
    """

    on: str
    database: Database[Document]
    store: ConversationStore

    @property
    def bare(self) -> Collection[Document]:
        return self.database["bare"]

    @property
    def durable(self) -> Collection[Document]:
        return self.bare.with_options(write_concern=WriteConcern(w="majority", j=True))


def _bench(server: Server, name: str) -> Iterator[Bench]:
    with MongoClient[Document](server.uri()) as client:
        store = ConversationStore(client[name])
        store.setup()
        client[name]["bare"].create_index([("c", 1), ("n", 1)])
        yield Bench("standalone" if server.replica_set is None else "replica set", client[name], store)


@pytest.fixture
def bench(server: Server, database_name: str) -> Iterator[Bench]:
    """Once on a replica set of one member, once on a standalone."""
    yield from _bench(server, database_name)


@pytest.fixture
def replica_bench(replica_set: Server, database_name: str) -> Iterator[Bench]:
    """On a replica set of one member."""
    yield from _bench(replica_set, database_name)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "benchmark" in config.getoption("markexpr") or any("benchmarks" in name for name in config.args):
        return
    left_out = [item for item in items if item.get_closest_marker("benchmark") is not None]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _figures.figures or _figures.tables:
        terminalreporter.section(f"figures at CONVOSTORE_SCALE={SCALE:g}")
        terminalreporter.write_line(_figures.text())
