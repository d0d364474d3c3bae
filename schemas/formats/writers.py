"""The formats that conversations go out in as text, one table of them. Pure.

Convostore's own format (``canonical``), Anda's records and Parquet (``message_rows``) are written by other
means, saved sessions of rig by ``store.saved_sessions``; :data:`EXPORTED` names all but those sessions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from convostore.schemas.entries import Entry
from convostore.schemas.formats import (
    anthropic_writer,
    librechat_writer,
    markdown_writer,
    openai_chat,
    sharegpt_writer,
)
from convostore.schemas.formats.outgoing import Losses, Outgoing, dialect_in, own_title, said_in
from convostore.schemas.json_values import JSON
from convostore.schemas.messages import ActionPart, AnyPart
from convostore.schemas.translation import openai_messages

__all__ = ["EXPORTED", "FILE_EACH", "PARQUET", "ROWS_LEAVE_OUT", "WRITERS", "Writer", "file_name"]


@dataclass(frozen=True, slots=True)
class Writer:
    """How one format is written.

    With ``is_file_each`` every conversation is a file of its own, whose name ends with ``suffix``; else they
    follow each other, ``frame`` being what stands before the first, between two, and after the last.
    ``leaves_out`` says what no conversation takes along, for the report.
    """

    name: str
    title: str
    suffix: str
    write: Callable[[Outgoing, Losses], Iterator[str]]
    is_file_each: bool = False
    takes_files: bool = False
    frame: tuple[str, str, str] = ("", "", "")
    leaves_out: str | None = None


def _openai(given: Outgoing, losses: Losses) -> Iterator[str]:
    return openai_chat.write(given.record, _chat(given, losses), given.source, given.unknown)


def _html(given: Outgoing, losses: Losses) -> Iterator[str]:
    # The parser of Markdown takes a while to load.
    from convostore.schemas.formats import html_page

    return html_page.write(given, losses)


def _chat(given: Outgoing, losses: Losses) -> Iterator[JSON]:
    """The messages as chat completions have them; such ones, and what is no message, as they are."""
    for entry in given.entries:
        dialect = dialect_in(entry)
        if dialect in (None, openai_chat.NAME):
            yield entry.message
            continue
        for what in _lost_in_chat(entry):
            losses.add(what, given.record)
        yield from openai_messages(entry.message, dialect)


def _lost_in_chat(entry: Entry) -> Iterator[str]:
    message = said_in(entry)
    if message is None:
        return
    if message.thoughts is not None:
        yield "thoughts are left out"
    if message.name is not None and not message.tool_outputs:
        yield "names of speakers are left out"
    for result in message.tool_outputs:
        if result.is_error:
            yield "whether a result is an error is left out"
        if not isinstance(result.output, str):
            yield "results that are no text are written as their JSON"
    if any(isinstance(part, (ActionPart, AnyPart)) for part in message.content):
        yield "parts that chat has not stay as they are"


WRITERS: dict[str, Writer] = {
    writer.name: writer
    for writer in (
        Writer(
            openai_chat.NAME,
            "OpenAI chat, a conversation a line",
            ".jsonl",
            _openai,
            leaves_out="only ids and extra go along of records, and of messages no times or authors",
        ),
        Writer(
            anthropic_writer.NAME,
            "Anthropic messages, a conversation a line",
            ".jsonl",
            anthropic_writer.write,
            leaves_out="only ids and extra go along of records, and of messages no times or authors",
        ),
        Writer(
            sharegpt_writer.NAME,
            "ShareGPT, an array",
            ".json",
            sharegpt_writer.write,
            frame=("[\n", ",\n", "\n]\n"),
            leaves_out="only ids and titles go along of records, and of messages no times or authors",
        ),
        Writer(
            librechat_writer.NAME,
            "LibreChat, a tree with its branches",
            ".json",
            librechat_writer.write,
            is_file_each=True,
            leaves_out="of records only ids, users, titles and times go along, of messages no authors",
        ),
        Writer(
            "markdown",
            "Markdown to read, mend and import again",
            ".md",
            markdown_writer.write,
            is_file_each=True,
            takes_files=True,
            leaves_out="history, asides and leases are left out",
        ),
        Writer(
            "html",
            "a page to read in a browser",
            ".html",
            _html,
            is_file_each=True,
            takes_files=True,
            leaves_out="pages are for reading: what is kept beside parts, and history, is left out",
        ),
    )
}

FILE_EACH = frozenset(writer.name for writer in WRITERS.values() if writer.is_file_each)
"""The formats of a file for each conversation."""

PARQUET = "parquet"
ROWS_LEAVE_OUT = "extra, usage, files and lists of the record have no column; history is left out"

EXPORTED = ("convostore", "anda", *WRITERS, PARQUET)
"""The formats of ``export_conversations`` and ``export_files``."""

_LONGEST_NAME = 60


def file_name(given: Outgoing, suffix: str) -> str:
    """A file's name that no other conversation of the store has: the id, and the title for people.

    Letters and digits of any alphabet, in lower case, and hyphens between them.
    """
    words = re.findall(r"\w+", (own_title(given.record) or "").lower().replace("_", " "))
    title = ""
    for word in words:
        if len(f"{title}-{word}".encode("utf-8", "replace")) > _LONGEST_NAME:
            break
        title = f"{title}-{word}"
    return f"{given.record.id}{title}{suffix}"
