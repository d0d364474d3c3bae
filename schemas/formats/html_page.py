"""One conversation as one HTML page: to be read in any browser, now and in years. Pure.

It holds its style and the bytes of images and files (``data:`` addresses), loads nothing, runs nothing (its
own content security policy says so), and nothing that anybody wrote in the conversation is markup. Replies
are shown as the Markdown that models write, other texts as they are. What is there for tracing, such as what
importers keep beside a part (``source``), is not shown: a page is for reading and no format to import.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

from convostore.schemas.anda_times import rfc3339
from convostore.schemas.entries import Entry
from convostore.schemas.formats.html_style import STYLE
from convostore.schemas.formats.html_text import escaped, is_shown_whole, is_web, rich
from convostore.schemas.formats.markdown_marks import json_forms_of, media_type
from convostore.schemas.formats.markdown_writer import base64_pieces, texts_of_output
from convostore.schemas.formats.outgoing import Losses, Outgoing, own_title, said_in
from convostore.schemas.json_values import JSON, dump_readable
from convostore.schemas.messages import (
    ActionPart,
    FileDataPart,
    InlineDataPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
)
from convostore.schemas.resources import Resource

__all__ = ["write"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:"
_SHORT = 700
_SHORT_LINES = 14
_LONG_SYSTEM = 1_200
_LONGEST_JSON = 256 << 10
_CLASSES = frozenset({"user", "assistant", "tool", "system"})


def write(given: Outgoing, losses: Losses) -> Iterator[str]:
    """The page, in pieces."""
    page = _Page(given, losses)
    yield from page.head()
    for entry in given.entries:
        yield from page.message(entry)
    yield from page.files()
    yield "</body>\n</html>\n"


class _Page:
    def __init__(self, given: Outgoing, losses: Losses) -> None:
        self._given = given
        self._losses = losses
        self._attached = list(enumerate(given.attachments(), 1))
        self._by_uri: dict[str, tuple[int, Resource]] = {}
        self._shown: set[int] = set()
        for number, resource in self._attached:
            if resource.uri is not None:
                self._by_uri.setdefault(resource.uri, (number, resource))

    def head(self) -> Iterator[str]:
        """Everything above the first message."""
        record = self._given.record
        title = escaped(own_title(record) or f"Conversation {record.id}")
        yield (
            '<!DOCTYPE html>\n<html>\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n<dl>\n"
        )
        for name, text in self._facts():
            yield f"<dt>{name}</dt><dd>{text}</dd>\n"
        yield "</dl>\n</header>\n"

    def _facts(self) -> Iterator[tuple[str, str]]:
        record, given = self._given.record, self._given
        yield "Conversation", f"{record.id}, {given.count:,} {'message' if given.count == 1 else 'messages'}"
        yield "User", escaped(record.user)
        yield (
            "Status",
            record.status.value + (f": {escaped(record.failed_reason)}" if record.failed_reason else ""),
        )
        if record.created_at:
            yield "Time", f"{_time(record.created_at)} to {_time(record.updated_at)}"
        for name, value in (("Label", record.label), ("Thread", record.thread)):
            if value:
                yield name, escaped(value)
        usage = record.usage
        if usage.input_tokens or usage.output_tokens:
            yield "Tokens", f"{usage.input_tokens:,} in, {usage.output_tokens:,} out"
        if given.source is not None:
            yield "Imported", f"from {escaped(given.source.format)}, {escaped(given.source.id)}"
        if given.forked_from is not None:
            fork = given.forked_from
            yield "Forked", f"from conversation {fork.id} after {fork.entries:,} messages"

    def message(self, entry: Entry) -> Iterator[str]:
        """One message."""
        message = said_in(entry)
        role = "" if message is None else message.role
        kind = role if role in _CLASSES else "tool" if role == "function" else "system"
        who = "No message" if message is None else role.capitalize() or "Nobody"
        name = f"<span>{self._text(message.name)}</span>" if message is not None and message.name else ""
        by = "" if entry.author is None else entry.author.name or entry.author.source or entry.author.kind
        author = f"<span>by {self._text(by)}</span>" if by else ""
        made = "" if entry.made is None else _time(entry.made)
        state = "<span>unfinished</span>" if entry.unfinished else ""
        yield f'<article class="{kind}" id="m{entry.id}">\n<header><b>{self._text(who)}</b>'
        yield f'{name}{author}{made}{state}</header>\n<div class="said">\n'
        if message is None:
            yield self._folded("JSON", entry.message, is_open=True)
        for part in message.content if message is not None else ():
            yield from self._part(part, role)
        if message is not None and not any(_says_something(part) for part in message.content):
            yield '<p class="file">nothing</p>\n'
        yield "</div>\n</article>\n"

    def _text(self, text: str) -> str:
        if not is_shown_whole(text):
            self._losses.add("characters that no page can show are shown by signs", self._given.record)
        return escaped(text)

    def _part(self, part: Part, role: str) -> Iterator[str]:
        if isinstance(part, TextPart):
            yield self._said(part.text, role)
        elif isinstance(part, ReasoningPart):
            shown = f'<div class="plain">{self._text(part.text)}</div>'
            yield f'<details class="thoughts"><summary>Thoughts</summary>{shown}</details>\n'
        elif isinstance(part, ToolCallPart):
            yield self._folded(f"Call of {_code(part.name)}{_id(part.call_id)}", part.args)
        elif isinstance(part, ToolOutputPart):
            of = f" of {_code(part.name)}" if part.name else ""
            caption = f"{'Error' if part.is_error else 'Result'}{of}{_id(part.call_id)}"
            for output in texts_of_output(part.output):
                yield self._folded(caption, output, "wrong" if part.is_error else "")
        elif isinstance(part, InlineDataPart):
            yield from _media(part.mime_type, part.mime_type, iter([base64.b64encode(part.data).decode()]))
        elif isinstance(part, FileDataPart):
            yield from self._file(part)
        elif isinstance(part, ActionPart):
            yield self._folded(f"Action {_code(part.name)}", part.payload)
        else:
            kind = part.value.get("type") if isinstance(part.value, dict) else None
            yield self._folded(f"Of the kind {_code(kind)}" if isinstance(kind, str) else "JSON", part.value)

    def _said(self, text: str, role: str) -> str:
        if role == "assistant":
            self._text(text)
            return f"{rich(text)}\n"
        if not text:
            return ""
        plain = f'<div class="plain">{self._text(text)}</div>'
        if role in ("user", "tool", "function") or len(text) <= _LONG_SYSTEM:
            return f"{plain}\n"
        return f"<details><summary>{len(text):,} characters</summary>{plain}</details>\n"

    def _folded(self, caption: str, value: JSON, kind: str = "", *, is_open: bool = False) -> str:
        """Something for those who want to know; open when it is short."""
        if value in (None, "", {}, []) and value is not False:
            return f'<p class="file">{caption}{": nothing" if value is None else ""}</p>\n'
        text = _readable(value)
        is_open = is_open or (len(text) <= _SHORT and text.count("\n") < _SHORT_LINES)
        return (
            f"<details{f' class={kind}' if kind else ''}{' open' if is_open else ''}>"
            f'<summary>{caption}</summary><pre class="wrapped">{self._text(text)}</pre></details>\n'
        )

    def _file(self, part: FileDataPart) -> Iterator[str]:
        number, resource = self._by_uri.get(part.file_uri, (0, None))
        file = None if resource is None else self._given.file_of(resource)
        name = resource.name if resource is not None else part.file_uri
        if resource is None or file is None:
            yield f'<p class="file">File: {_link(part.file_uri, name)}</p>\n'
        elif number in self._shown:
            yield f'<p class="file">File: <a href="#file-{number}">{escaped(name)}</a></p>\n'
        else:
            self._shown.add(number)
            kind = part.mime_type or resource.mime_type or ""
            yield from _media(kind, name, base64_pieces(file.chunks()), f"file-{number}")

    def files(self) -> Iterator[str]:
        """What the conversation refers to and no message shows."""
        left = [(number, one) for number, one in self._attached if number not in self._shown]
        if not left:
            return
        yield "<footer>\n<h2>Files</h2>\n<ul>\n"
        for number, resource in left:
            file = self._given.file_of(resource)
            yield "<li>"
            if file is None:
                size = "" if resource.size is None else f", {resource.size:,} bytes"
                yield f"{_link(resource.uri or '', resource.name)}{size}"
            else:
                pieces = base64_pieces(file.chunks())
                yield from _media(resource.mime_type or "", resource.name, pieces, f"file-{number}")
            yield "</li>\n"
        yield "</ul>\n</footer>\n"


def _says_something(part: Part) -> bool:
    return not isinstance(part, TextPart) or part.text != ""


def _media(mime_type: str, name: str, pieces: Iterator[str], id: str = "") -> Iterator[str]:
    """An image, sound or film to see or hear, any other file to save."""
    kind = media_type(mime_type)
    place = f' id="{id}"' if id else ""
    first = kind.partition("/")[0]
    if first == "image":
        opening, closing = "img", f' alt="{escaped(name)}"><figcaption>{escaped(name)}</figcaption>'
    elif first in ("audio", "video"):
        opening, closing = f"{first} controls", f"></{first}><figcaption>{escaped(name)}</figcaption>"
    else:
        yield f'<p class="file"{place}>Save <a download="{escaped(name)}" href="data:{kind};base64,'
        yield from pieces
        yield f'">{escaped(name)}</a></p>\n'
        return
    yield f'<figure{place}><{opening} src="data:{kind};base64,'
    yield from pieces
    yield f'"{closing}</figure>\n'


def _readable(value: JSON) -> str:
    """A text as it is; JSON, also in a text that could be made from it again, in lines unless it is short."""
    if isinstance(value, str):
        if value[:1] not in ("{", "[") or len(value) > _LONGEST_JSON:
            return value
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return value
        if value not in json_forms_of(found):
            return value
        value = found
    return dump_readable(value, lines=True)


def _link(address: str, name: str) -> str:
    if is_web(address):
        return f'<a href="{escaped(address)}" rel="noreferrer">{escaped(name)}</a>'
    return escaped(name) if address in ("", name) else f"{escaped(name)} ({escaped(address)})"


def _code(name: str) -> str:
    return f"<code>{escaped(name)}</code>"


def _id(call_id: str | None) -> str:
    return f" ({escaped(call_id)})" if call_id else ""


def _time(made: int) -> str:
    text = rfc3339(made)
    if text is None:
        return f"<span>{made} ms</span>"
    return f'<time datetime="{text}">{text[:19].replace("T", " ")} UTC</time>'
