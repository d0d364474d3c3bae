"""Which database a command works on, and the store that opens it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import typer

if TYPE_CHECKING:
    from convostore.store import ConversationStore

__all__ = ["Chosen", "choose", "opened", "read_uri", "warn_of_password"]

VARIABLE = "CONVOSTORE_URI"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The URI of a command and where it was found: an option, the variable, or nowhere (the default)."""

    uri: str
    is_default: bool = False


def choose(context: typer.Context, uri: str | None, uri_file: Path | None) -> Chosen:
    """The URI by the order of the documentation.

    ``--uri`` or ``--uri-file`` after the command, the same before it, ``CONVOSTORE_URI``, the embedded
    default.

    Raises:
        typer.BadParameter: both options at one place; a file that cannot be read or is empty.

    """
    before: tuple[str | None, Path | None] = context.find_root().obj or (None, None)
    for given, file in ((uri, uri_file), before):
        if given is not None and file is not None:
            raise typer.BadParameter("give --uri or --uri-file, not both")
        if given is not None:
            warn_of_password(given, "--uri", "--uri-file or CONVOSTORE_URI")
            return Chosen(given)
        if file is not None:
            return Chosen(read_uri(file, "--uri-file"))
    named = os.environ.get(VARIABLE)
    return Chosen(named) if named else Chosen("embedded:", is_default=True)


def read_uri(file: Path, option: str) -> str:
    """The URI that the file holds.

    Raises:
        typer.BadParameter: it cannot be read, or holds not one line.

    """
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no UTF-8"
        raise typer.BadParameter(f"{option} {file}: {reason}") from None
    if not text or "\n" in text:
        raise typer.BadParameter(f"{option} {file}: it must hold one line, the URI")
    return text


def warn_of_password(uri: str, where: str, instead: str) -> None:
    """Say on a terminal that others see the password in the arguments, and what keeps it from them."""
    try:
        password = urlsplit(uri).password
    except ValueError:
        return
    if password and sys.stderr.isatty():
        print(
            f"convostore: other users of this machine see the password in {where}; use {instead}",
            file=sys.stderr,
        )


@contextmanager
def opened(context: typer.Context, uri: str | None, uri_file: Path | None) -> Iterator[ConversationStore]:
    """The open store; the embedded default is named on standard error."""
    chosen = choose(context, uri, uri_file)
    from convostore.store import ConversationStore
    from convostore.store.engine import default_folder

    if chosen.is_default:
        print(f"convostore: using embedded:{default_folder()}", file=sys.stderr)
    with ConversationStore.connect(chosen.uri) as store:
        yield store
