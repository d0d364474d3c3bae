"""The comments by which a Markdown export says what its text is, and how messages are put into text. Pure.

A message is written twice over without saying anything twice: its JSON stands in a comment, which no reader
shows, and every text in it that people should read is cut out of that JSON and stands below, as Markdown. In
its place the JSON has a hole, ``{"$": 2}``: the second block of the message. So a text that somebody mends in
an editor is mended in the message.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from convostore.schemas.byte_text import write_bytes
from convostore.schemas.json_values import JSON, dump_exact, dump_readable

__all__ = [
    "FORM",
    "OPENING",
    "Block",
    "Filling",
    "comment",
    "fence_for",
    "filled",
    "forms_of",
    "is_plain",
    "json_comment",
    "json_forms_of",
    "line_json",
    "media_type",
    "open_fence",
    "read_comment",
    "skeleton",
]

FORM = "markdown/1"
OPENING = re.compile(r"---[ \t]*\r?\nconvostore:[ \t]*\"?markdown/")
"""How a file of this form begins, after a byte order mark."""

_MARK = re.compile(r"<!-- (message|text|code|data|resource|artifact|end)(?: (.*))? -->")
_LIKE_A_MARK = re.compile(r"^<!-- (?:message|text|code|data|resource|artifact|end)\b", re.MULTILINE)
# Characters that a text file does not carry unharmed, or that end lines for some programs.
_ODD = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]")
_HOLE = "$"
_LIKE_A_HOLE = re.compile(r"\$+")
# Members that say what a thing is. A text may be equal to one by chance.
_NAMES = frozenset(
    (
        "role",
        "type",
        "name",
        "id",
        "callId",
        "call_id",
        "tool_call_id",
        "tool_use_id",
        "mimeType",
        "media_type",
    )
)


@dataclass(slots=True)
class Block:
    """What is shown of a message, and may fill holes of it.

    ``value`` is a text, JSON, or bytes, ``before`` and ``after`` what stands around it. A text is Markdown
    unless ``is_code``. ``used`` says that the message has a hole for it, ``form`` what text stands there for
    bytes or JSON.
    """

    value: JSON | bytes
    before: str = ""
    after: str = ""
    is_code: bool = False
    mime_type: str = ""
    used: bool = False
    form: str | None = None


def is_plain(text: str) -> bool:
    """Whether the text comes back from a file as it is, and is not taken for a comment of ours."""
    return not _ODD.search(text) and not _LIKE_A_MARK.search(text)


def forms_of(data: bytes, mime_type: str) -> dict[str, str]:
    """The texts that bytes are written as in messages, with the name of each form."""
    url_safe = write_bytes(data, prefixed=False)
    standard = base64.b64encode(data).decode()
    address = f"data:{media_type(mime_type)};base64,{standard}"
    return {address: "address", standard: "base64", url_safe: "base64url", f"b64:{url_safe}": "b64"}


def media_type(mime_type: str) -> str:
    """The media type, if it is one that an address can name."""
    return (
        mime_type if re.fullmatch(r"[\w.+-]+/[\w.+-]+", mime_type, re.ASCII) else "application/octet-stream"
    )


def json_forms_of(value: JSON) -> dict[str, str]:
    """The texts that an object or a list is written as in messages, with the name of each form."""
    try:
        return {dump(value): form for form, dump in reversed(_JSON_FORMS.items())}
    except ValueError:
        return {}


_BYTE_FORMS: Mapping[str, Callable[[bytes], str]] = {
    "base64": lambda data: base64.b64encode(data).decode(),
    "base64url": lambda data: write_bytes(data, prefixed=False),
    "b64": write_bytes,
}
_JSON_FORMS: dict[str, Callable[[JSON], str]] = {
    "spaced": lambda value: json.dumps(value, allow_nan=False),
    "compact": lambda value: json.dumps(value, allow_nan=False, separators=(",", ":")),
    "spaced-letters": lambda value: json.dumps(value, allow_nan=False, ensure_ascii=False),
    "compact-letters": lambda value: json.dumps(
        value, allow_nan=False, ensure_ascii=False, separators=(",", ":")
    ),
}


def skeleton(message: JSON, blocks: Sequence[Block]) -> JSON:
    """The message with a hole for each value that a block shows; those blocks are ``used`` from now on."""
    return _Cutter(blocks).cut(message)


class _Cutter:
    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = blocks
        # By the text that stands in the message, or exact JSON: the blocks that hold it, and in what form.
        self._texts: dict[str, list[tuple[int, str | None]]] = {}
        self._values: dict[str, list[tuple[int, str | None]]] = {}
        for number, block in enumerate(blocks, 1):
            value = block.value
            if isinstance(value, str):
                if is_plain(value):
                    self._texts.setdefault(value, []).append((number, None))
                continue
            if not value or not isinstance(value, (bytes, dict, list)):
                continue
            if not isinstance(value, bytes):
                self._values.setdefault(dump_exact(value), []).append((number, None))
            forms = forms_of(value, block.mime_type) if isinstance(value, bytes) else json_forms_of(value)
            for text, form in forms.items():
                self._texts.setdefault(text, []).append((number, form))

    def cut(self, value: JSON) -> JSON:
        kind = type(value)
        if kind is str:
            return self._hole(self._texts.get(value), value)
        if kind is not dict and kind is not list:
            return value
        if self._values and value:
            hole = self._hole(self._values.get(dump_exact(value)), None)
            if hole is not None:
                return hole
        if kind is list:
            items = []
            for item in value:
                items.append(self.cut(item))
            return items
        members = {}
        for name, item in value.items():
            members[name] = item if name in _NAMES and type(item) is str else self.cut(item)
        if len(members) == 1 and _LIKE_A_HOLE.fullmatch(name):
            return {_HOLE + name: members[name]}
        return members

    def _hole(self, candidates: Sequence[tuple[int, str | None]] | None, value: JSON) -> JSON:
        """A hole for the first of the blocks that is not used, else for the last if that has the form too."""
        for number, form in candidates or ():
            block = self._blocks[number - 1]
            if not block.used or ((number, form) == candidates[-1] and block.form == form):  # type: ignore[index]
                block.used, block.form = True, form
                return {_HOLE: number}
        return value


@dataclass(frozen=True, slots=True)
class Filling:
    """What a block of a file holds: its value, and the form of the text that the message has for it."""

    value: JSON | bytes
    form: str | None = None


def filled(value: JSON, fillings: Mapping[int, Filling]) -> JSON:
    """The message of a skeleton.

    Raises:
        KeyError: a block is missing, or its form is none.

    """
    kind = type(value)
    if kind is list:
        items = []
        for item in value:
            items.append(filled(item, fillings))
        return items
    if kind is not dict:
        return value
    if len(value) == 1:
        name, held = next(iter(value.items()))
        if name == _HOLE:
            return _filling(fillings[held])
        if _LIKE_A_HOLE.fullmatch(name):
            return {name[1:]: filled(held, fillings)}
    members = {}
    for name, item in value.items():
        members[name] = filled(item, fillings)
    return members


def _filling(found: Filling) -> JSON:
    if isinstance(found.value, bytes):
        return _BYTE_FORMS[found.form or "base64"](found.value)
    return found.value if found.form is None else _JSON_FORMS[found.form](found.value)


def comment(kind: str, text: str = "") -> str:
    """A comment of ours, as a line."""
    return f"<!-- {kind} {text} -->\n" if text else f"<!-- {kind} -->\n"


def line_json(value: JSON) -> str:
    """The value in one line, which comes back from a file as it is."""
    text = dump_readable(value)
    return dump_exact(value) if _ODD.search(text) else text


def json_comment(kind: str, value: JSON) -> str:
    """A comment with JSON in it, in which nothing ends a comment."""
    # These occur in texts only, where JSON may have them escaped.
    text = line_json(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("--", "-\\u002d")
    return comment(kind, text)


def read_comment(line: str) -> tuple[str, str] | None:
    """The kind of the comment that the line is, and what it holds; None when it is none of ours."""
    found = _MARK.fullmatch(line)
    return None if found is None else (found[1], found[2] or "")


def fence_for(text: str) -> str:
    """Backticks that do not occur in the text so many at once."""
    runs: Iterator[int] = (len(run) for run in re.findall("`{3,}", text))
    return "`" * (max(runs, default=2) + 1)


def open_fence(text: str) -> str | None:
    """The fence that a text opens and does not close; what follows it would be taken for code."""
    fence: str | None = None
    for line in text.split("\n"):
        found = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if found is None:
            continue
        if fence is None:
            if found[1][0] == "~" or "`" not in found[2]:
                fence = found[1]
        elif found[1].startswith(fence) and not found[2].strip():
            fence = None
    return fence
