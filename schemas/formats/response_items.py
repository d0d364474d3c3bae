"""Items of OpenAI's Responses as the events of a stream tell them, also those that it never ended. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from convostore.schemas.json_values import JSON

__all__ = ["StreamedItems"]

# Texts of an item by the event that adds to them.
_MEMBERS = {
    "response.function_call_arguments": "arguments",
    "response.mcp_call_arguments": "arguments",
    "response.custom_tool_call_input": "input",
    "response.code_interpreter_call_code": "code",
}
# Texts of a part of an item: where the parts are, which member is the text, what type the part has.
_PARTS = {
    "response.output_text": ("content", "text", "output_text"),
    "response.refusal": ("content", "refusal", "refusal"),
    "response.reasoning_text": ("content", "text", "reasoning_text"),
    "response.reasoning_summary_text": ("summary", "text", "summary_text"),
}


@dataclass(slots=True)
class _Item:
    """An item on its way; ``texts`` are its pieces by the event that brings them and the part's index."""

    begun: Mapping[str, JSON]
    texts: dict[tuple[str, int], list[str]] = field(default_factory=dict)

    def is_empty(self) -> bool:
        """Whether it was only announced."""
        said = any(self.begun.get(name) for name in ("content", "summary", "encrypted_content"))
        return (
            self.begun.get("type") in ("message", "reasoning") and not said and not any(self.texts.values())
        )

    def item(self) -> dict[str, JSON]:
        """The item as far as it came."""
        found: dict[str, Any] = dict(self.begun)
        for (kind, _), pieces in sorted(self.texts.items()):
            if kind in _MEMBERS:
                found[_MEMBERS[kind]] = "".join(pieces)
                continue
            place, member, type = _PARTS[kind]
            before = found.get(place)
            part = {"type": type, member: "".join(pieces)}
            found[place] = [*(before if isinstance(before, list) else ()), part]
        return found


def _key(event: Mapping[str, Any], item: JSON) -> int | str | None:
    """What tells the item from the others of its stream; None when nothing does."""
    at = event.get("output_index")
    id = item.get("id") if isinstance(item, dict) else event.get("item_id")
    return at if isinstance(at, int) else id if isinstance(id, str) else None


@dataclass(slots=True)
class StreamedItems:
    """The items of one stream, in the order in which they began or, unannounced, were done."""

    _items: dict[int | str, _Item | JSON] = field(default_factory=dict)

    def take(self, event: Mapping[str, Any]) -> None:
        """Take what an event says of an item."""
        kind = str(event.get("type"))
        item = event.get("item")
        key = _key(event, item)
        if kind == "response.output_item.done" and "item" in event:
            self._items[f"the {len(self._items)}th" if key is None else key] = item
        elif kind == "response.output_item.added" and isinstance(item, dict) and key is not None:
            self._items.setdefault(key, _Item(item))
        else:
            self._take_text(event, kind)

    def _take_text(self, event: Mapping[str, Any], kind: str) -> None:
        name, _, step = kind.rpartition(".")
        if name not in _MEMBERS and name not in _PARTS:
            return
        key = _key(event, None)
        begun = None if key is None else self._items.get(key)
        if not isinstance(begun, _Item):
            return
        at = 0 if name in _MEMBERS else event.get(f"{_PARTS[name][0]}_index")
        pieces = begun.texts.setdefault((name, at if isinstance(at, int) else 0), [])
        said = event.get("delta")
        if step == "delta" and isinstance(said, str):
            pieces.append(said)
        elif step == "done":
            whole = event.get(_MEMBERS[name] if name in _MEMBERS else _PARTS[name][1])
            if isinstance(whole, str):
                pieces[:] = [whole]

    def items(self) -> list[JSON]:
        """All items; one that was not done is as far as it came, and left out when it says nothing yet."""
        return [
            one.item() if isinstance(one, _Item) else one
            for one in self._items.values()
            if not isinstance(one, _Item) or not one.is_empty()
        ]
