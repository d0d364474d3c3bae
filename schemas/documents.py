"""Documents: what is shown to a model of conversations and resources (``spec/anda.md`` 7.5, 7.6). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from convostore.schemas.anda_json import anda_text
from convostore.schemas.anda_times import rfc3339
from convostore.schemas.json_values import JSON
from convostore.schemas.messages import Message, TextPart

__all__ = ["Document", "Documents"]


@dataclass(frozen=True)
class Document:
    """Something to show: ``metadata`` (an object, its keys in byte order) and ``content`` (any JSON)."""

    metadata: dict[str, JSON]
    content: JSON = None

    def to_json(self) -> dict[str, JSON]:
        """``{"metadata": ..., "content": ...}``."""
        return {"metadata": self.metadata, "content": self.content}


@dataclass(frozen=True)
class Documents:
    """Documents under one tag, rendered as a block of lines.

    >>> print(Documents([Document({"_id": 1}, "a </Documents> b")]).render())
    <documents>
    {"metadata":{"_id":1},"content":"a < /Documents> b"}
    </documents>
    """

    documents: list[Document] = field(default_factory=list)
    tag: str = "documents"

    def __iter__(self) -> Iterator[Document]:
        return iter(self.documents)

    def __len__(self) -> int:
        return len(self.documents)

    def render(self) -> str:
        """The opening tag, a line of compact JSON per document, the closing tag; no text without documents.

        A closing tag inside a line gets a space after its ``<``, so that the block ends where it ends.
        """
        if not self.documents:
            return ""
        return "\n".join((f"<{self.tag}>", *self._lines(self.documents), f"</{self.tag}>"))

    def __str__(self) -> str:
        return self.render()

    def to_message(self, now_ms: int) -> Message:
        """The block as the runtime's message: role ``user``, name ``$system``, the time above the block."""
        text = f"Current datetime: {rfc3339(now_ms)}\n\n---\n\n{self.render()}"
        return Message(role="user", name="$system", content=[TextPart(text=text)])

    def _lines(self, documents: Iterable[Document]) -> Iterator[str]:
        closing = re.compile(re.escape(f"</{self.tag}>"), re.IGNORECASE | re.ASCII)
        for document in documents:
            yield closing.sub(lambda found: "< " + found[0][1:], anda_text(document.to_json()))
