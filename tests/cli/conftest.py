"""A fresh database for each test of the command line, and the library's view of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from convostore.store import ConversationStore
from support.command_line import Command
from support.servers import Server


@pytest.fixture
def convostore(replica_set: Server, database_name: str, tmp_path: Path) -> Command:
    """The command on a fresh database of the session's server."""
    return Command(replica_set.uri(database_name), tmp_path)


@pytest.fixture
def store(replica_set: Server, database_name: str) -> Iterator[ConversationStore]:
    """The same database through the library."""
    with replica_set.client() as client:
        opened = ConversationStore(client[database_name])
        opened.setup()
        yield opened
