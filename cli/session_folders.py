"""Imports and exports of saved sessions, each a folder, for the commands ``import`` and ``export``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from convostore.schemas.errors import InvalidRecordError, SessionFormatError

if TYPE_CHECKING:
    from convostore.store import ConversationStore, ExportReport, ImportReport

__all__ = ["FORMAT", "export_sessions", "holds_logs", "import_sessions"]

FORMAT = "rig-session"


def import_sessions(store: ConversationStore, name: str, user: str | None, *, dry_run: bool) -> ImportReport:
    """Import a session's folder, or a folder of such; one report of all.

    Raises:
        InvalidRecordError: no user is given: the format names none.
        SessionFormatError: it is no session, or a log of it does not read.

    """
    from convostore.store.sessions import DirectorySessionStore

    if user is None:
        raise InvalidRecordError("user", f"the {FORMAT} format names no user; say whose they are (--user)")
    done = [
        store.saved_sessions.load(DirectorySessionStore(folder), user=user, name=folder.name, dry_run=dry_run)
        for folder in _folders(Path(name))
    ]
    for other in done[1:]:
        done[0].merge(other)
    return done[0]


def _folders(path: Path) -> list[Path]:
    from convostore.store.session_folders import is_session

    absolute = path.resolve()
    found = [absolute] if is_session(absolute) else sorted(filter(is_session, _subfolders(absolute)))
    if not found:
        raise SessionFormatError(
            "holds no file of a known format and no saved session, which has a folder logs", file=str(path)
        )
    return found


def holds_logs(folder: Path) -> bool:
    """Whether the folder, or one directly below it, has a folder ``logs``, as saved sessions do."""
    return any((one / "logs").is_dir() for one in (folder, *_subfolders(folder)))


def _subfolders(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir()]


def export_sessions(
    store: ConversationStore,
    out: Path | None,
    filters: dict[str, Any],
    advance: Callable[[str], object],
) -> ExportReport:
    """Export each session, and each other conversation as one, into a folder of its own below ``out``.

    Raises:
        typer.BadParameter: there is no ``out``.
        ConflictError: there is a log that is not the beginning of what is to be written.

    """
    from convostore.store import ExportReport
    from convostore.store.sessions import DirectorySessionStore

    if out is None:
        raise typer.BadParameter(f"--format {FORMAT} writes folders: say where with --out")
    sessions: dict[tuple[str, str], list[int]] = {}
    for head in store.scan(**filters):
        came = head.source is not None and head.source.format == FORMAT
        name = head.source.file if came and head.source is not None else None
        sessions.setdefault((head.user, name or f"conversation-{head.id}"), []).append(head.id)
    report, taken = ExportReport(FORMAT), set[str]()
    for (user, name), ids in sessions.items():
        folder = _free(name, taken)
        report.merge(store.saved_sessions.save(DirectorySessionStore(out / folder), ids, user=user))
        advance(f"{report.conversations:,} conversations")
    return report


def _free(name: str, taken: set[str]) -> str:
    """A folder's name that no other session of this export has."""
    plain = "".join(letter if letter.isalnum() or letter in "-_. " else "-" for letter in name)[:120]
    folder, number = plain.strip(". ") or "session", 1
    while folder.lower() in taken:
        number += 1
        folder = f"{plain}-{number}"
    taken.add(folder.lower())
    return folder
