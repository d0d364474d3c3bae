"""Commands that look: ``list``, ``show``, ``tail``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from convostore.cli.application import resumable
from convostore.cli.connection import opened
from convostore.cli.history import AsOf, show_past
from convostore.cli.options import AsJson, AsJsonLines, Id, Uri, UriFile, User, Zone

if TYPE_CHECKING:
    from convostore.schemas.entries import Entry
    from convostore.store import ConversationStore
    from convostore.store.results import ConversationHead

__all__ = ["list_", "show", "tail"]

_PAGE = 100

Since = Annotated[
    str | None,
    typer.Option("--since", metavar="WHEN", help="Created then or later: 2026-03-08, RFC 3339, ms, or 90d."),
]
Until = Annotated[
    str | None,
    typer.Option("--until", metavar="WHEN", help="Created before then."),
]
Thread = Annotated[str | None, typer.Option("--thread", help="Of this thread.")]
Label = Annotated[str | None, typer.Option("--label", help="With this label.")]
Status = Annotated[
    list[str] | None,
    typer.Option("--status", help="With this status; may be given several times."),
]


def list_(
    context: typer.Context,
    user: User = None,
    thread: Thread = None,
    status: Status = None,
    label: Label = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="At most so many; 0 for all.")] = 20,
    tz: Zone = "UTC",
    as_json: AsJson = False,
    as_json_lines: AsJsonLines = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """List conversations, the newest first."""
    from convostore.cli.dates import zone_named
    from convostore.cli.filters import wanted
    from convostore.cli.output import print_json, print_table
    from convostore.cli.views import HEAD_COLUMNS, HEAD_NUMBERS, head_json, head_row

    zone = zone_named(tz)
    filters = wanted(user, thread, status, label, since, until, zone)
    with opened(context, uri, uri_file) as store:
        heads = _heads(store, filters, limit)
        if as_json_lines:
            for head in heads:
                print_json(head_json(head))
        elif as_json:
            print_json([head_json(head) for head in heads])
        else:
            rows = [head_row(head, zone) for head in heads]
            if rows:
                print_table(HEAD_COLUMNS, rows, right=HEAD_NUMBERS)
            else:
                typer.echo("no conversations", err=True)


def _heads(store: ConversationStore, filters: dict[str, Any], limit: int) -> Iterator[ConversationHead]:
    left, cursor = limit, None
    while True:
        page = store.find(**filters, limit=min(left, _PAGE) if limit else _PAGE, cursor=cursor)
        yield from page
        left -= len(page)
        cursor = page.cursor
        if cursor is None or (limit and left <= 0):
            return


def show(
    context: typer.Context,
    id: Id,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=0, help="The newest so many messages; 0 for all.")
    ] = 50,
    as_of: AsOf = None,
    tz: Zone = "UTC",
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Show one conversation and its newest messages, now or as they were."""
    from convostore.cli.dates import zone_named
    from convostore.cli.output import print_json, print_line
    from convostore.cli.views import entry_json, entry_text, head_json, head_lines

    zone = zone_named(tz)
    with opened(context, uri, uri_file) as store:
        if as_of is not None:
            show_past(store, id, as_of, zone, limit, as_json)
            return
        head = store.head(id)
        entries = store.messages(id, limit=limit).items if limit else store.entries(id)
        if as_json:
            print_json({**head_json(head), "entries": [entry_json(entry) for entry in entries]})
            return
        for line in head_lines(head, zone):
            print_line(line)
        shown = 0
        for entry in entries:
            print_line()
            print_line(entry_text(entry, zone))
            shown += 1
        if limit and shown < head.message_count:
            print_line()
            print_line(f"the newest {shown:,} of {head.message_count:,} messages; --limit 0 shows all")


def tail(
    context: typer.Context,
    id: Annotated[
        int | None,
        typer.Argument(metavar="[ID]", help="One conversation; else all."),
    ] = None,
    last: Annotated[
        int, typer.Option("--last", "-n", min=0, help="With ID: begin with the newest so many.")
    ] = 0,
    tz: Zone = "UTC",
    as_json: AsJson = False,
    as_json_lines: AsJsonLines = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Follow new messages as they are stored, until Ctrl-C; in JSON one object a line."""
    from convostore.cli.dates import zone_named
    from convostore.cli.output import print_json, print_line
    from convostore.cli.views import entry_json, entry_text

    zone = zone_named(tz)

    def say(conversation: int, entry: Entry) -> None:
        if as_json or as_json_lines:
            print_json({"conversation": conversation, **entry_json(entry)})
        else:
            print_line(f"{conversation} {entry_text(entry, zone)}")
            sys.stdout.flush()

    with opened(context, uri, uri_file) as store, resumable("run tail again to follow from then on"):
        if id is not None:
            store.head(id)
        with store.watch(id) as changes:
            if id is not None and last:
                for entry in store.messages(id, limit=last):
                    say(id, entry)
            for change in changes:
                for entry in change.entries:
                    say(change.id, entry)
                if id is not None and change.kind == "deleted":
                    typer.echo(f"conversation {id} was deleted", err=True)
                    return
