"""Conversations as ShareGPT has them: an array, one conversation a line. Pure.

Each message is a turn of ``from`` (``system``, ``human``, ``gpt``, ``function_call``, ``observation``) and
``value``; one that says something and calls tools is two. Thoughts stand before the answer as
``<think>...</think>``, as data sets of reasoning models have them. Calls are JSON of ``name`` and
``arguments``, several in one message a list of such. Files are listed by their address under ``images``,
``videos``, ``audios``, with a mark in the text. What was imported from this format goes out as it came, but
for the text of the JSON of calls, and with ``from`` and ``value`` for the names of members.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from convostore.schemas.conversations import Conversation
from convostore.schemas.entries import Entry
from convostore.schemas.formats.outgoing import Losses, Outgoing, own_title, parts_in, result_text, source_id
from convostore.schemas.json_output import foreign_json
from convostore.schemas.json_values import JSON
from convostore.schemas.messages import (
    FileDataPart,
    InlineDataPart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolOutputPart,
)

__all__ = ["NAME", "write"]

NAME = "sharegpt"

_SPEAKERS = {
    "system": "system",
    "developer": "system",
    "user": "human",
    "assistant": "gpt",
    "tool": "observation",
    "function": "observation",
}
_FILES = {"image": ("<image>", "images"), "video": ("<video>", "videos"), "audio": ("<audio>", "audios")}
_SIGNS = frozenset(mark for mark, _ in _FILES.values())


def write(given: Outgoing, losses: Losses) -> Iterator[str]:
    """One conversation as an object in a line, in pieces; the files come last, when all are known."""
    head: dict[str, JSON] = {}
    id = source_id(given, NAME)
    if id is not None:
        head["id"] = id
    title = own_title(given.record)
    if title is not None:
        head["title"] = title
    if given.record.extra not in (None, {"title": title}):
        losses.add("extra is left out but for its title", given.record)
    is_ours = given.source is not None and given.source.format == NAME
    if is_ours:
        head |= given.unknown
    yield "{" + "".join(f"{foreign_json(name)}:{foreign_json(value)}," for name, value in head.items())
    yield '"conversations":['
    turns = _Turns(given.record, losses, is_ours)
    first = True
    for entry in given.entries:
        for turn in turns.of(entry):
            yield ("" if first else ",") + foreign_json(turn)
            first = False
    yield "]"
    for name, addresses in turns.files.items():
        yield f",{foreign_json(name)}:{foreign_json(addresses)}"
    yield "}"


class _Turns:
    """Makes turns of messages; ``files`` are the addresses that they name, in order."""

    def __init__(self, record: Conversation, losses: Losses, is_ours: bool) -> None:
        self.files: dict[str, list[JSON]] = {}
        self._record = record
        self._losses = losses
        self._is_ours = is_ours

    def of(self, entry: Entry) -> Iterator[JSON]:
        """The turns of one message."""
        parts = parts_in(entry)
        if parts is None:
            self._lose("what is no message is a turn of its own, as it is")
            yield {"from": "unknown", "value": [entry.message]}
            return
        message: Mapping[str, Any] = entry.message
        role = message.get("role") if isinstance(message.get("role"), str) else "assistant"
        source = message.get("source")
        rest = dict(source) if self._is_ours and isinstance(source, dict) else {}
        speaker = rest.pop("from", rest.pop("role", None))
        if not isinstance(speaker, str):
            speaker = role if self._is_ours or role not in _SPEAKERS else _SPEAKERS[role]
        if message.get("name") is not None:
            self._lose("names of speakers are left out")
        calls = [(part, more) for part, more in parts if isinstance(part, ToolCallPart)]
        results = [part for part, _ in parts if isinstance(part, ToolOutputPart)]
        others = [part for part, _ in parts if not isinstance(part, (ToolCallPart, ToolOutputPart))]
        for result in results:
            said_by = speaker if self._is_ours else "observation"
            yield {"from": said_by, "value": self._output(result), **rest}
        if others or not (calls or results):
            under = {"value": self._value(others)} if "value" not in rest else {}
            yield {"from": speaker, **under, **rest}
        if calls:
            said_by = speaker if self._is_ours and not others else "function_call"
            yield {"from": said_by, "value": self._calls(calls), **rest}

    def _lose(self, what: str) -> None:
        self._losses.add(what, self._record)

    def _output(self, result: ToolOutputPart) -> JSON:
        if result.call_id is not None:
            self._lose("ids of calls and results are left out")
        if result.is_error:
            self._lose("whether a result is an error is left out")
        if self._is_ours or isinstance(result.output, str):
            return result.output
        self._lose("results that are no text are written as their JSON")
        return result_text(result.output)

    def _calls(self, calls: Sequence[tuple[ToolCallPart, Mapping[str, JSON]]]) -> JSON:
        written = []
        for call, more in calls:
            if call.call_id is not None:
                self._lose("ids of calls and results are left out")
            if not call.name and len(calls) == 1:
                return call.args
            beside = dict(more) if self._is_ours else {}
            written.append({"name": call.name, "arguments": call.args, **beside})
        return foreign_json(written[0] if len(written) == 1 else written)

    def _value(self, parts: Sequence[Part]) -> JSON:
        """What is said: a text, or a list when it holds what is none."""
        items: list[JSON] = []
        texts = [part.text for part in parts if isinstance(part, TextPart)]
        marked = sum(text.count(mark) for text in texts for mark in _SIGNS) if self._is_ours else 0
        is_text = True
        for part in parts:
            if isinstance(part, TextPart):
                items.append(part.text)
            elif isinstance(part, ReasoningPart):
                self._lose("thoughts are written into the text, as <think>")
                items.append(f"<think>\n{part.text}\n</think>")
            elif isinstance(part, FileDataPart):
                mark = self._file(part)
                if marked:
                    marked -= 1
                else:
                    items.append(mark)
            elif isinstance(part, InlineDataPart):
                self._lose("bytes in messages are left out")
            else:
                if not self._is_ours:
                    self._lose("parts that ShareGPT has not stay as they are")
                is_text = False
                items.append(part.to_json())
        if is_text:
            return ("" if self._is_ours else "\n\n").join(items)
        return [{"type": "text", "text": item} if isinstance(item, str) else item for item in items]

    def _file(self, part: FileDataPart) -> str:
        kind = (part.mime_type or "image/").partition("/")[0]
        mark, name = _FILES.get(kind, _FILES["image"])
        self.files.setdefault(name, []).append(part.file_uri)
        return mark
