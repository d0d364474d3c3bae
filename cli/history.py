"""Commands on a conversation's past: ``history``, ``undo``, ``redo``, ``fork``, and ``show --as-of``."""

from __future__ import annotations

import re
from datetime import tzinfo
from typing import TYPE_CHECKING, Annotated, Any

import typer

from convostore.cli.connection import opened
from convostore.cli.options import AsJson, AsJsonLines, Id, Uri, UriFile, Zone

if TYPE_CHECKING:
    from convostore.store import ConversationStore, Revision

__all__ = ["AsOf", "fork", "history", "redo", "show_past", "undo"]

AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="WHEN", help="As it was at a revision (12), or at a time as of --since."),
]

_REVISION = re.compile(r"\d{1,11}", re.ASCII)  # a time in ms has more digits since 1973
_COLUMNS = ("REVISION", "AT", "WHAT", "BY", "ADDED", "REMOVED")
_MOST_IDS = 4


def history(
    context: typer.Context,
    id: Id,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="The newest so many changes; 0 for all.")
    ] = 50,
    tz: Zone = "UTC",
    as_json: AsJson = False,
    as_json_lines: AsJsonLines = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """List the changes of a conversation's messages, the oldest first: when, what, by whom."""
    from convostore.cli.dates import zone_named
    from convostore.cli.output import print_json, print_table

    zone = zone_named(tz)
    with opened(context, uri, uri_file) as store:
        changes = store.history(id)
    shown = changes[-limit:] if limit else changes
    if as_json_lines:
        for change in shown:
            print_json(_change_json(change))
    elif as_json:
        print_json([_change_json(change) for change in shown])
    elif shown:
        print_table(_COLUMNS, [_change_row(change, zone) for change in shown], right=(0,))
        if len(shown) < len(changes):
            typer.echo(f"the newest {len(shown):,} of {len(changes):,}; --limit 0 shows all", err=True)
    else:
        typer.echo("no changes", err=True)


def _change_json(change: Revision) -> dict[str, Any]:
    named = {
        "revision": change.number,
        "at": change.at,
        "kind": change.kind,
        "by": None if change.by is None else change.by.to_json(),
        "added": list(change.added) or None,
        "removed": list(change.removed) or None,
        "start": change.start,
        "usage": dict(change.usage) or None,
        "undoes": change.undoes,
        "redoes": change.redoes,
    }
    return {name: value for name, value in named.items() if value is not None}


def _change_row(change: Revision, zone: tzinfo) -> tuple[str, ...]:
    from convostore.cli.dates import show_moment

    what = change.kind
    if change.undoes is not None:
        what += f", undoes {change.undoes}"
    if change.redoes is not None:
        what += f", redoes {change.redoes}"
    by = "" if change.by is None else change.by.label()
    return (
        str(change.number),
        show_moment(change.at, zone),
        what,
        by,
        _ids(change.added),
        _ids(change.removed),
    )


def _ids(ids: tuple[int, ...]) -> str:
    if len(ids) <= _MOST_IDS:
        return " ".join(map(str, ids))
    return f"{ids[0]} \u2026 {ids[-1]} ({len(ids):,})"


def undo(
    context: typer.Context, id: Id, as_json: AsJson = False, uri: Uri = None, uri_file: UriFile = None
) -> None:
    """Take back the newest change of a conversation's messages; what it removed comes back."""
    with opened(context, uri, uri_file) as store:
        store.undo(id)
        _tell_last(store, id, as_json)


def redo(
    context: typer.Context, id: Id, as_json: AsJson = False, uri: Uri = None, uri_file: UriFile = None
) -> None:
    """Bring back what was last taken back, when nothing was changed since."""
    with opened(context, uri, uri_file) as store:
        store.redo(id)
        _tell_last(store, id, as_json)


def _tell_last(store: ConversationStore, id: int, as_json: bool) -> None:
    from convostore.cli.output import print_json, print_line

    last = store.history(id)[-1]
    if as_json:
        print_json({"_id": id, **_change_json(last)})
        return
    done = f"undid revision {last.undoes}" if last.undoes is not None else f"redid revision {last.redoes}"
    print_line(f"conversation {id} is at revision {last.number}: {done}")


def fork(
    context: typer.Context,
    id: Id,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="ENTRY", help="Up to this entry, 4 or m4; without it the whole."),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="End with that very entry, even within a turn.")
    ] = False,
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Begin a new conversation as a copy, by default up to the last turn that had ended at the entry."""
    from convostore.cli.output import print_json, print_line

    entry = None if at is None else _entry_id(at)
    if exact and entry is None:
        raise typer.BadParameter("--exact needs --at")
    with opened(context, uri, uri_file) as store:
        made = store.fork(id, entry, exact=exact)
    if as_json:
        print_json({"_id": made.id, "forked_from": id, "messages": len(made.messages)})
    else:
        print_line(f"conversation {made.id} begins as {id} did, with {len(made.messages):,} messages")


def _entry_id(text: str) -> int:
    digits = text.removeprefix("m")
    if not (digits.isascii() and digits.isdigit()):
        raise typer.BadParameter(f"--at: {text!a} is no entry; write 4 or m4, as show has it")
    return int(digits)


def show_past(store: ConversationStore, id: int, as_of: str, zone: tzinfo, limit: int, as_json: bool) -> None:
    """Print a conversation's messages as they were at a revision or a time."""
    from convostore.cli.dates import parse_moment, show_moment
    from convostore.cli.filters import now_ms
    from convostore.cli.output import print_json, print_line
    from convostore.cli.views import entry_json, entry_text

    if _REVISION.fullmatch(as_of):
        past = store.as_of(id, int(as_of))
    else:
        past = store.as_of(id, at=parse_moment(as_of, "as-of", zone, now_ms()))
    entries = [entry.entry() for entry in past]
    shown = entries[-limit:] if limit else entries
    halted = past.halted()
    if as_json:
        found: dict[str, Any] = {"_id": id, "revision": past.revision(), "message_count": len(entries)}
        found |= {} if halted is None else {"halt": halted.value}
        print_json({**found, "entries": [entry_json(entry) for entry in shown]})
        return
    made = max((entry.made for entry in entries if entry.made is not None), default=None)
    newest = "" if made is None else f", the newest of {show_moment(made, zone)}"
    print_line(f"conversation {id} at revision {past.revision()}: {len(entries):,} messages{newest}")
    for entry in shown:
        print_line()
        print_line(entry_text(entry, zone))
    if len(shown) < len(entries):
        print_line()
        print_line(f"the newest {len(shown):,} of {len(entries):,} messages; --limit 0 shows all")
