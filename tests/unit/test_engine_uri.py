"""What a URI names, without starting anything."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from convostore.schemas.errors import InvalidRecordError
from convostore.store.engine import EmbeddedEngine, default_folder, folder_of, resolve_uri


@pytest.mark.parametrize(
    ("uri", "folder"),
    [
        ("embedded:data", Path("data")),
        ("embedded:/srv/my data", Path("/srv/my data")),
        ("embedded:~/chats", Path.home() / "chats"),
        ("embedded:", default_folder()),
        ("mongodb://localhost/agents", None),
        ("mongodb+srv://cluster.example.org/agents", None),
    ],
)
def test_a_uri_names_a_folder_or_a_server(uri: str, folder: Path | None) -> None:
    assert folder_of(uri) == folder


@pytest.mark.parametrize("uri", ["", "localhost:27017", "http://example.org", "Embedded:x", "/srv/data"])
def test_anything_else_is_refused(uri: str) -> None:
    with pytest.raises(InvalidRecordError, match="mongodb:// nor mongodb\\+srv:// nor embedded:"):
        folder_of(uri)


def test_a_refused_uri_is_not_repeated_with_its_password() -> None:
    with pytest.raises(InvalidRecordError) as caught:
        folder_of("mongo://alice:hunter2@localhost")
    assert "hunter2" not in str(caught.value)


def test_without_a_uri_the_environment_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONVOSTORE_URI", "mongodb://db.example.org/agents")
    assert resolve_uri() == ("mongodb://db.example.org/agents", None)


def test_the_default_folder_is_among_the_users_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    if sys.platform == "linux":
        assert default_folder() == tmp_path / "convostore"
    assert default_folder().name == "convostore"


def test_an_engine_knows_its_folder_wherever_the_process_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    engine = EmbeddedEngine("data")
    monkeypatch.chdir("/")
    assert engine.folder == tmp_path / "data"
