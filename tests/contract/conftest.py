"""A database that tests of imports share, each as a user of its own."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterator

import pytest

from convostore.store import ConversationStore
from support.accounts import Account
from support.servers import Server

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def import_store(replica_set: Server) -> Iterator[ConversationStore]:
    """The store; its clock and ids are its own."""
    name = f"imports_{secrets.token_hex(4)}"
    with replica_set.client() as client:
        opened = ConversationStore(client[name])
        opened.setup()
        yield opened
        client.drop_database(name)


@pytest.fixture
def account(import_store: ConversationStore) -> Account:
    """A user who has nothing yet."""
    return Account(import_store, f"importer {next(_numbers)}")
