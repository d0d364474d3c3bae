"""What an entry is to the conversation: request, reply, STOPPED (``spec/rig.md`` 2.2, 2.4). Pure."""

from __future__ import annotations

from convostore.schemas.authors import Author
from convostore.schemas.entries import Entry
from convostore.schemas.pairing.grammars import grammar_of

__all__ = [
    "STOPPED_TEXT",
    "is_read",
    "is_request",
    "is_stop_marker",
    "is_users",
    "is_users_own",
    "stop_entry",
]

STOPPED_TEXT = (
    "[The user cancelled the request above before it was answered. "
    "Leave that work alone unless somebody asks for it again.]"
)
"""Tells the model not to carry out a stopped request; recognised by its author, never by its words."""


def is_users(entry: Entry) -> bool:
    """Whether the message is on the user's side: said to the model, tool results among it."""
    return grammar_of(entry).kind(entry.message) == "user"


def is_read(entry: Entry) -> bool:
    """Whether a model reads the message: all but replies that failed or are unfinished."""
    grammar = grammar_of(entry)
    if grammar.kind(entry.message) != "assistant":
        return True
    return not (entry.unfinished or grammar.failed(entry.message))


def is_users_own(entry: Entry) -> bool:
    """Whether the user said it: by nobody else and without a title, and not tool results only."""
    author = entry.author
    own = author is None or (author.kind == "user" and author.title is None)
    return own and _says_something(entry)


def is_request(entry: Entry) -> bool:
    """Whether somebody other than rig asks for something with it: not tool results only."""
    return (entry.author is None or entry.author.kind != "rig") and _says_something(entry)


def is_stop_marker(entry: Entry) -> bool:
    """Whether it is a STOPPED entry: rig's, on the user's side, and not tool results only."""
    return entry.author is not None and entry.author.kind == "rig" and _says_something(entry)


def _says_something(entry: Entry) -> bool:
    grammar = grammar_of(entry)
    if grammar.kind(entry.message) != "user":
        return False
    return any(block.result is None for block in grammar.blocks(entry.message))


def stop_entry(followed_by: Entry) -> Entry:
    """The STOPPED entry in the dialect of the entry behind it; its id is not settled yet."""
    message = grammar_of(followed_by).user_text(STOPPED_TEXT, followed_by.message)
    return Entry(-1, message, None, Author.rig(), followed_by.dialect)
