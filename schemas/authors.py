"""Who wrote an entry or made a change (``spec/rig.md`` 2.3). Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from convostore.schemas.errors import InvalidRecordError
from convostore.schemas.identifiers import check_text

__all__ = ["Author"]

_KINDS = ("user", "agent", "plugin", "rig")


@dataclass(frozen=True, slots=True)
class Author:
    """The writer of an entry or a change; none at all means the user's own text, a reply or a tool result.

    ``kind`` is ``user``, ``agent``, ``plugin`` (then ``name`` is the plugin's) or ``rig``, the host itself.
    ``source`` is the id of the agent it came from, ``request`` only correlates, ``title`` says what it is
    about.

    Raises:
        InvalidRecordError: another kind, a plugin without a name, a text that UTF-8 cannot hold.

    """

    kind: Literal["user", "agent", "plugin", "rig"] = "user"
    name: str | None = None
    source: str | None = None
    request: str | None = None
    title: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in _KINDS or (self.kind == "plugin" and self.name is None):
            raise InvalidRecordError("author.kind", f"unknown kind of author {ascii(self.kind)[:80]}")
        for member in ("name", "source", "request", "title"):
            text = getattr(self, member)
            if text is not None:
                check_text(text, f"author.{member}")

    @classmethod
    def user(cls) -> Author:
        """The user, typing."""
        return cls("user")

    @classmethod
    def agent(cls, source: str, request: str | None = None) -> Author:
        """The agent with the id ``source``."""
        return cls("agent", source=source, request=request)

    @classmethod
    def plugin(cls, name: str) -> Author:
        """The plugin of that name."""
        return cls("plugin", name=name)

    @classmethod
    def rig(cls) -> Author:
        """The host itself."""
        return cls("rig")

    def titled(self, title: str) -> Author:
        """The same author, with a title."""
        return Author(self.kind, self.name, self.source, self.request, title)

    def label(self) -> str:
        """For views: the kind, the first 8 characters of the agent's id, the title in quotes."""
        kind = f"plugin {self.name}" if self.kind == "plugin" else self.kind
        short = f" {self.source[:8]}" if self.source else ""
        return f"{kind}{short}" + (f' "{self.title}"' if self.title else "")

    def to_json(self) -> dict[str, Any]:
        """The JSON form: ``{"kind": {"plugin": "btw"}}``, ``{"kind": "agent", "from": ...}``."""
        written: dict[str, Any] = {"kind": {"plugin": self.name} if self.kind == "plugin" else self.kind}
        for key, value in (("from", self.source), ("request", self.request), ("title", self.title)):
            if value is not None:
                written[key] = value
        return written

    @classmethod
    def from_json(cls, value: Any, path: str = "author") -> Author:
        """Read the JSON form; a missing kind is the user.

        Raises:
            InvalidRecordError: it is no author.

        """
        if not isinstance(value, dict):
            raise InvalidRecordError(path, "an author is an object")
        kind: Any = value.get("kind", "user")
        name = None
        if isinstance(kind, dict) and list(kind) == ["plugin"]:
            kind, name = "plugin", kind["plugin"]
        if kind not in _KINDS or (kind == "plugin" and not isinstance(name, str)):
            reason = f"unknown kind of author {ascii(value.get('kind'))[:80]}"
            raise InvalidRecordError(f"{path}.kind", reason)
        for key in ("from", "request", "title"):
            if value.get(key) is not None:
                check_text(value[key], f"{path}.{key}")
        if name is not None:
            check_text(name, f"{path}.name")
        return cls(kind, name, value.get("from"), value.get("request"), value.get("title"))
