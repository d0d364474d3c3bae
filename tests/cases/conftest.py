"""Two databases for all cases, both faces of the store on them, and a user of its own for each test."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient

from support.faces import AsyncFace, Face, SyncFace
from support.hard_inputs import Row, row_of_test
from support.journeys import TINY, Clock, Journey
from support.servers import Server


@pytest.fixture(scope="session")
def raw(replica_set: Server) -> Iterator[MongoClient[dict[str, Any]]]:
    """A plain client, to see what lies in the database."""
    with replica_set.client() as client:
        yield client


@pytest.fixture(scope="session")
def faces(replica_set: Server) -> Iterator[dict[str, Face]]:
    """Both faces, each with a client of its own."""
    both: dict[str, Face] = {
        face.name: face for face in (SyncFace(replica_set.uri()), AsyncFace(replica_set.uri()))
    }
    yield both
    for face in both.values():
        face.close()


@pytest.fixture(scope="session")
def databases(raw: MongoClient[dict[str, Any]], faces: dict[str, Face]) -> Iterator[tuple[str, str]]:
    """The names of the database under test and of the one that exports are imported into."""
    names = tuple(f"cases_{role}_{secrets.token_hex(4)}" for role in ("store", "target"))
    for name in names:
        faces["sync"].open(name).setup()
    yield names[0], names[1]
    for name in names:
        raw.drop_database(name)


@pytest.fixture(params=["sync", "async"])
def face(request: pytest.FixtureRequest, faces: dict[str, Face]) -> Face:
    """Either face: the test runs once with each."""
    return faces[request.param]


@pytest.fixture
def clock() -> Clock:
    """The store's clock; it stands still until it is moved."""
    return Clock()


@pytest.fixture
def user(request: pytest.FixtureRequest) -> str:
    """A user that no other test has."""
    return request.node.name[:256]  # type: ignore[no-any-return]


@pytest.fixture
def store(face: Face, databases: tuple[str, str], clock: Clock) -> Any:
    """A store of the face under test, its bounds tiny."""
    return face.open(databases[0], clock=clock, bounds=TINY)


@pytest.fixture
def journey(
    face: Face, store: Any, databases: tuple[str, str], raw: MongoClient[dict[str, Any]], user: str
) -> Journey:
    """What the test's user stores, and reads back."""
    return Journey(store, face.open(databases[1], bounds=TINY), raw, databases[0], user)


@pytest.fixture
def row(request: pytest.FixtureRequest) -> Row:
    """The hard input that the test is named after."""
    return row_of_test(request.node.originalname)
