"""Commands that change conversations: ``delete``, ``expire``, ``stop``, ``steer``, ``follow-up``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from convostore.cli.application import resumable
from convostore.cli.connection import opened
from convostore.cli.options import AsJson, DryRun, Id, Uri, UriFile, User, Yes, Zone

if TYPE_CHECKING:
    from convostore.store.results import ConversationHead

__all__ = ["delete", "expire", "follow_up", "steer", "stop"]

_HOUR_MS = 3_600_000

Figures: TypeAlias = Annotated[
    str, typer.Option("--figures", help="keep or drop what stats counted; dropped also when it is gone.")
]


def _policy(figures: str) -> Literal["keep", "drop"]:
    if figures == "keep":
        return "keep"
    if figures == "drop":
        return "drop"
    raise typer.BadParameter(f"{figures!r} is neither keep nor drop", param_hint="--figures")


def _agree(question: str, *, yes: bool) -> None:
    """Ask on a terminal; off it ``--yes`` must have been given.

    Raises:
        typer.Abort: the answer is no.
        typer.BadParameter: there is nobody to ask.

    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter(
            "nobody can be asked here: give --yes, or --dry-run to see what would be done"
        )
    typer.confirm(question, abort=True, err=True)


def delete(
    context: typer.Context,
    id: Id,
    figures: Figures = "keep",
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Delete one conversation with its messages and history, for good."""
    from convostore.cli.output import print_json, print_line
    from convostore.schemas.errors import NotFoundError

    policy = _policy(figures)
    with opened(context, uri, uri_file) as store, resumable("delete it again to finish"):
        try:
            messages: int | None = store.head(id).message_count
        except NotFoundError:
            # What a delete that was killed has left of it still goes.
            messages = None
        if dry_run:
            if messages is None:
                raise NotFoundError("conversation", id)
            if as_json:
                print_json({"_id": id, "deleted": False, "messages": messages, "dry_run": True})
            else:
                print_line(f"would delete conversation {id} with {messages:,} messages")
            return
        if messages is not None:
            _agree(f"Delete conversation {id} with {messages:,} messages?", yes=yes)
        done = store.delete(id, figures=policy)
        if not done.existed and not (done.segments or done.blobs or done.changes):
            raise NotFoundError("conversation", id)
        if as_json:
            print_json({"_id": id, "deleted": True, "messages": messages or 0})
        else:
            print_line(f"deleted conversation {id}" + (f" with {messages:,} messages" if messages else ""))


def expire(
    context: typer.Context,
    before: Annotated[
        str, typer.Option("--before", metavar="WHEN", help="Older than 2026-03-08, RFC 3339, ms, or 90d.")
    ],
    by: Annotated[str, typer.Option("--by", help="Age since: created or updated.")] = "created",
    include: Annotated[
        list[str] | None,
        typer.Option("--include", metavar="STATUS", help="Also submitted or working ones, which are spared."),
    ] = None,
    user: User = None,
    figures: Figures = "keep",
    yes: Yes = False,
    dry_run: DryRun = False,
    tz: Zone = "UTC",
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Delete what is older than a moment, by whole hours; what is submitted or working stays unless named."""
    from convostore.cli.dates import parse_moment, show_moment, zone_named
    from convostore.cli.filters import now_ms, statuses
    from convostore.cli.output import print_json, print_line
    from convostore.cli.progress import progress
    from convostore.schemas.conversations import ConversationStatus
    from convostore.schemas.errors import QueryError
    from convostore.store import ALL_USERS

    policy = _policy(figures)
    basis: Literal["created", "updated"]
    if by == "created":
        basis = "created"
    elif by == "updated":
        basis = "updated"
    else:
        raise QueryError("by", f"{by!a} is neither created nor updated")
    zone = zone_named(tz)
    moment = parse_moment(before, "before", zone, now_ms())
    moment -= moment % _HOUR_MS
    named = statuses(include)
    spared = {ConversationStatus.SUBMITTED, ConversationStatus.WORKING} - set(named)
    scope = ALL_USERS if user is None else user
    with opened(context, uri, uri_file) as store, resumable("run it again to expire the rest"):
        if not yes or dry_run:
            left = [status for status in ConversationStatus if status not in spared]
            if not moment:
                found = 0
            elif by == "created":
                found = store.count(user=scope, status=left, until=moment)
            else:
                # What was updated before the moment was created before it.
                old = store.scan(user=scope, status=left, until=moment)
                found = sum(1 for record in old if record.updated_at < moment)
            told = f"{found:,} conversations {by} before {show_moment(moment, zone)}"
            if dry_run:
                if as_json:
                    print_json({"expired": found, "before": moment, "by": by, "dry_run": True})
                else:
                    print_line(f"would delete {told}")
                return
            if not found:
                yes = True
            _agree(f"Delete {told}?", yes=yes)
        with progress("deleting"):
            removed = store.delete_expired(moment, by=basis, include=named, user=scope, figures=policy)
        if as_json:
            print_json({"expired": removed, "before": moment, "by": by})
        else:
            print_line(f"deleted {removed:,} conversations {by} before {show_moment(moment, zone)}")


def stop(
    context: typer.Context,
    id: Id,
    reason: Annotated[str | None, typer.Option("--reason", help="Why.")] = None,
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Cancel a conversation that is submitted, working or idle."""
    with opened(context, uri, uri_file) as store:
        _tell(store.stop(id, reason=reason), as_json)


Text = Annotated[str, typer.Argument(metavar="TEXT", help="The text; - reads it from standard input.")]
Key = Annotated[
    str | None,
    typer.Option("--key", help="A key of your own: a repeated call with it queues nothing twice."),
]


def steer(
    context: typer.Context,
    id: Id,
    text: Text,
    key: Key = None,
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Queue a text that interrupts what the agent does."""
    with opened(context, uri, uri_file) as store:
        _tell(store.steer(id, _given(text), key=key), as_json)


def follow_up(
    context: typer.Context,
    id: Id,
    text: Text,
    key: Key = None,
    as_json: AsJson = False,
    uri: Uri = None,
    uri_file: UriFile = None,
) -> None:
    """Queue a text for when the agent is done."""
    with opened(context, uri, uri_file) as store:
        _tell(store.follow_up(id, _given(text), key=key), as_json)


def _given(text: str) -> str:
    return sys.stdin.read() if text == "-" else text


def _tell(head: ConversationHead, as_json: bool) -> None:
    from convostore.cli.output import print_json, print_line
    from convostore.cli.views import head_json

    if as_json:
        print_json(head_json(head))
        return
    queued = ""
    if head.steering_messages or head.follow_up_messages:
        steering, follow_ups = len(head.steering_messages), len(head.follow_up_messages)
        queued = f"; waiting: {steering} steering, {follow_ups} follow-up"
    print_line(f"conversation {head.id} is {head.status.value}{queued}")
