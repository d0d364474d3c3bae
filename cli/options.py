"""Options that many commands share. Types only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = ["AsJson", "AsJsonLines", "DryRun", "Id", "Uri", "UriFile", "User", "Yes", "Zone"]

Uri: TypeAlias = Annotated[
    str | None,
    typer.Option("--uri", metavar="URI", help="mongodb://..., or embedded:FOLDER; else CONVOSTORE_URI."),
]
UriFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--uri-file", metavar="FILE", help="A file that holds the URI, so that no other user sees it."
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON value instead of text.")]
AsJsonLines: TypeAlias = Annotated[bool, typer.Option("--json-lines", help="One JSON object a line.")]
User: TypeAlias = Annotated[
    str | None,
    typer.Option("--user", metavar="USER", help="Only this user's; else every user's."),
]
Zone: TypeAlias = Annotated[
    str, typer.Option("--tz", metavar="ZONE", help="Zone of dates, as Europe/Berlin.")
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
Id: TypeAlias = Annotated[int, typer.Argument(metavar="ID", help="The conversation's id.")]
