"""Conversations as Markdown: to be read by people, in any viewer, and to be imported again. Pure.

::

    ---                                      front matter: the record, a member a line, each value as JSON
    convostore: "markdown/1"
    _id: 17
    user: "alice"
    ---
    # Weekend in Lyon

    <!-- message {"id": 0, "made": 1772971200000, "message": {"role": "user", "content": {"$": 1}}} -->
    ## User, 2026-03-08 12:00:00 UTC

    <!-- text 1 -->
    Where should we go?
    <!-- end -->

``markdown_marks`` says how the comments and the text belong together. Bytes in a message, and those of
resources, are ``data:`` addresses, the latter at the end as definitions that images and links refer to. Not
in it are history, asides and leases.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from convostore.schemas.anda_times import rfc3339
from convostore.schemas.entries import Entry
from convostore.schemas.formats.canonical import entry_json
from convostore.schemas.formats.markdown_marks import (
    FORM,
    Block,
    comment,
    fence_for,
    is_plain,
    json_comment,
    line_json,
    media_type,
    open_fence,
    skeleton,
)
from convostore.schemas.formats.outgoing import File, Losses, Outgoing, own_title, said_in
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

__all__ = ["base64_pieces", "texts_of_output", "write"]

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~])")
_BYTES_AT_ONCE = 3 << 16


def write(given: Outgoing, losses: Losses) -> Iterator[str]:
    """One conversation as a document, in pieces."""
    yield from _front_matter(given)
    record = given.record
    title = own_title(record)
    yield f"# {_inline(title) if title else f'Conversation {record.id}'}\n\n"
    names = _Names(given)
    for entry in given.entries:
        yield _message(entry, names)
    yield from _files(given)
    yield comment("end", "of conversation")


def _front_matter(given: Outgoing) -> Iterator[str]:
    members = {
        name: value
        for name, value in given.record.to_json_object().items()
        if name not in ("messages", "resources", "artifacts", "period") and value is not None
    }
    if given.source is not None:
        members["source"] = given.source.to_json()
    if given.unknown:
        members["unknown"] = dict(given.unknown)
    if given.forked_from is not None:
        members["forked_from"] = {"id": given.forked_from.id, "entries": given.forked_from.entries}
    yield f'---\nconvostore: "{FORM}"\n'
    for name, value in members.items():
        yield f"{name}: {line_json(value)}\n"
    yield "---\n\n"


class _Names:
    """What the files of a conversation are called where it refers to them."""

    def __init__(self, given: Outgoing) -> None:
        self._by_uri: dict[str, tuple[str, Resource]] = {}
        for number, resource in enumerate(given.attachments(), 1):
            if resource.uri is not None and given.file_of(resource) is not None:
                self._by_uri.setdefault(resource.uri, (f"file-{number}", resource))

    def link(self, part: FileDataPart) -> str:
        """An image, or a link to something else, as Markdown."""
        label, resource = self._by_uri.get(part.file_uri, (None, None))
        kind = part.mime_type or (resource.mime_type if resource else None) or ""
        shown = _inline(resource.name if resource else part.file_uri, 200)
        sign = "!" if kind.startswith("image/") else ""
        if label is not None:
            return f"{sign}[{shown}][{label}]"
        if re.fullmatch(r"(?:https?|ftp|mailto):[^\s<>()]+", part.file_uri):
            return f"{sign}[{shown}]({part.file_uri})"
        return f"{shown}"


def _message(entry: Entry, names: _Names) -> str:
    message = said_in(entry)
    made = _moment(entry.made)
    if message is None:
        heading, blocks = "Not a message", [Block(entry.message)]
    else:
        who = f" {_inline(message.name)}" if message.name else ""
        heading = f"{_inline(message.role).capitalize() or 'Nobody'}{who}"
        blocks = [block for part in message.content for block in _blocks(part, names)]
    hollow = replace(entry, message=skeleton(entry.message, blocks))
    lines = [json_comment("message", entry_json(hollow)), f"## {heading}{f', {made}' if made else ''}\n\n"]
    for number, block in enumerate(blocks, 1):
        lines.append(_shown(number, block))
    return "".join(lines)


def _blocks(part: Part, names: _Names) -> Iterator[Block]:
    if isinstance(part, TextPart):
        yield Block(part.text)
    elif isinstance(part, ReasoningPart):
        yield Block(part.text, "<details><summary>Thoughts</summary>\n\n", "\n</details>\n\n")
    elif isinstance(part, ToolCallPart):
        id = f" (`{_code(part.call_id)}`)" if part.call_id else ""
        yield Block(part.args, f"**Call** of `{_code(part.name)}`{id}\n\n", is_code=True)
    elif isinstance(part, ToolOutputPart):
        what = "Error" if part.is_error else "Result"
        of = f" of `{_code(part.name)}`" if part.name else ""
        id = f" (`{_code(part.call_id)}`)" if part.call_id else ""
        caption = f"**{what}**{of}{id}\n\n"
        for output in texts_of_output(part.output):
            yield Block(output, caption, is_code=True)
            caption = ""
    elif isinstance(part, InlineDataPart):
        yield Block(part.data, mime_type=part.mime_type)
    elif isinstance(part, FileDataPart):
        yield Block(None, f"{names.link(part)}\n\n")
    elif isinstance(part, ActionPart):
        yield Block(part.to_json(), f"**Action** `{_code(part.name)}`\n\n", is_code=True)
    else:
        yield Block(part.value, is_code=not isinstance(part.value, str))


def texts_of_output(output: JSON) -> list[JSON]:
    """What a tool gave back: the texts of a list of nothing but text blocks, else the value itself."""
    if isinstance(output, list) and output:
        texts = [part.get("text") for part in output if isinstance(part, dict) and part.get("type") == "text"]
        if len(texts) == len(output) and all(isinstance(text, str) for text in texts):
            return texts
    return [output]


def _shown(number: int, block: Block) -> str:
    value = block.value
    if isinstance(value, bytes):
        return f"{block.before}{_shown_bytes(number, value, block)}{block.after}"
    if value is None or (value == "" and not block.used):
        return f"{block.before}{block.after}"
    if isinstance(value, str) and not block.is_code:
        return f"{block.before}{_shown_text(number, value, block)}{block.after}"
    is_text = isinstance(value, str)
    text = value if is_text else dump_readable(value, lines=True)
    fence = fence_for(text)
    language = "" if is_text else "json"
    mark = comment("code", " ".join(filter(None, [str(number), language, block.form]))) if block.used else ""
    shown = text if block.used else _harmless(text)
    return f"{block.before}{mark}{fence}{language}\n{shown}\n{fence}\n\n{block.after}"


def _shown_text(number: int, text: str, block: Block) -> str:
    fence = open_fence(text)
    closed = f"\n{fence}" if fence else ""
    if not block.used:
        return f"{_harmless(text)}{closed}\n\n"
    mark = comment("text", f"{number} closed" if fence else str(number))
    return f"{mark}{text}{closed}\n{comment('end')}\n"


def _shown_bytes(number: int, data: bytes, block: Block) -> str:
    mark = comment("data", f"{number} {block.form}") if block.used else ""
    sign = "!" if block.mime_type.startswith("image/") else ""
    name = _inline(block.mime_type) or "data"
    address = f"data:{media_type(block.mime_type)};base64,{base64.b64encode(data).decode()}"
    return f"{mark}{sign}[{name}]({address})\n\n"


def _harmless(text: str) -> str:
    """The text, to be seen only: without what a file does not carry and without comments."""
    if is_plain(text):
        return text
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = re.sub("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]", " ", text.replace("\r\n", "\n"))
    return text.replace("<!--", "&lt;!--")


def _files(given: Outgoing) -> Iterator[str]:
    attached = given.attachments()
    if attached:
        yield "## Files\n\n"
    for number, resource in enumerate(attached, 1):
        file = given.file_of(resource)
        kind = "resource" if number <= len(given.record.resources) else "artifact"
        yield json_comment(kind, resource.model_copy(update={"blob": None}).to_json())
        name = f"[{_inline(resource.name)}][file-{number}]" if file else _inline(resource.name)
        facts = [name, *filter(None, [_inline(resource.mime_type or ""), _size(resource, file)])]
        yield f"- {', '.join(facts)}\n\n"
        if file is not None:
            yield f"[file-{number}]: data:{media_type(resource.mime_type or '')};base64,"
            yield from base64_pieces(file.chunks())
            yield "\n\n"


def _size(resource: Resource, file: File | None) -> str:
    size = file.size if file is not None else resource.size
    return "" if size is None else f"{size:,} bytes"


def base64_pieces(chunks: Iterable[bytes]) -> Iterator[str]:
    """The chunks as one text of standard base64, in pieces."""
    held = b""
    for chunk in chunks:
        held += chunk
        whole = len(held) // 3 * 3
        if whole >= _BYTES_AT_ONCE:
            yield base64.b64encode(held[:whole]).decode()
            held = held[whole:]
    yield base64.b64encode(held).decode()


def _moment(made: int | None) -> str:
    time = None if made is None else rfc3339(made)
    return "" if time is None else f"{time[:19].replace('T', ' ')} UTC"


def _inline(text: str, limit: int = 300) -> str:
    """The text in one line, with nothing in it that Markdown takes for more."""
    return _SPECIAL.sub(r"\\\1", _one_line(text, limit))


def _code(text: str) -> str:
    return _one_line(text, 300).replace("`", "'")


def _one_line(text: str, limit: int) -> str:
    plain = _harmless(" ".join(text.split()))
    return plain if len(plain) <= limit else f"{plain[: limit - 1]}…"
