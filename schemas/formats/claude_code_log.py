"""Claude Code's lines as they come, sorted into sessions, with their parents. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from convostore.schemas.formats.claude_code_lines import SessionLine, is_spoken
from convostore.schemas.formats.claude_code_links import set_in_a_row
from convostore.schemas.formats.foreign import first_id
from convostore.schemas.formats.items import Found, Position, Refused
from convostore.schemas.formats.moments import Moments
from convostore.schemas.formats.parts import rest_of
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.formats.session_lines import LinesDigest
from convostore.schemas.formats.trees import Forest, Node
from convostore.schemas.json_values import JSON, MAX_DEPTH, dump_text, same_json

__all__ = ["LOG", "Session", "SessionLog", "agent_of"]

LOG = "loglines"
"""The member that holds the lines in the web form."""

# What names a session, the one that counts most first.
_TITLES = (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary"))


def agent_of(line: SessionLine) -> str | None:
    """The id of the sub-agent whose line it is, where the line says."""
    agent = line.value.get("agentId")
    return agent if line.is_side and isinstance(agent, str) and agent else None


def _around(value: JSON) -> JSON:
    for _ in range(20):
        value = [value]
    return value


@dataclass(slots=True)
class Session:
    """One session: its lines that are messages or link them, and those that are no messages."""

    id: str | None
    position: Position
    lines: list[SessionLine] = field(default_factory=list)
    others: list[Mapping[str, JSON]] = field(default_factory=list)
    content: LinesDigest = field(default_factory=LinesDigest)
    beside: Mapping[str, JSON] = field(default_factory=dict)
    title: tuple[int, str] | None = None

    def messages(self) -> list[SessionLine]:
        """The lines that are messages."""
        return [line for line in self.lines if line.is_message]

    def is_side_only(self) -> bool:
        """Whether all that is said in it is a sub-agent's."""
        return all(line.is_side for line in self.messages())

    def source_id(self) -> str | None:
        """The id of the session; of one that is a sub-agent's alone with the agent's, as its file is."""
        agents = {agent_of(line) for line in self.messages()}
        agent = agents.pop() if len(agents) == 1 else None
        return f"{self.id}/agent-{agent}" if self.id and agent and self.is_side_only() else self.id

    def begins(self) -> tuple[bool, int]:
        """What sessions are sorted by: the time of the first message, those without any last."""
        made = [line.made for line in self.messages() if line.made is not None]
        return not made, min(made, default=0)

    def leaf(self, forest: Forest) -> str:
        """Its newest message that is no sub-agent's, where it has one, and from there on to the end."""
        own = {line.key: line for line in self.messages() if not line.is_side or self.is_side_only()}
        age = {
            key: (-1 if line.made is None else line.made, place)
            for place, (key, line) in enumerate(own.items())
        }
        leaf = max(own, key=age.__getitem__)
        seen = {leaf}
        while below := [key for key in forest.children(leaf) if key in own and key not in seen]:
            leaf = max(below, key=age.__getitem__)
            seen.add(leaf)
        return leaf

    def entitle(self, value: Mapping[str, JSON]) -> None:
        """Take the title in a line, when it has one and none that counts more was read."""
        for rank, (kind, member) in enumerate(_TITLES):
            title = value.get(member)
            if value.get("type") != kind or not isinstance(title, str) or not title:
                continue
            if self.title is None or rank <= self.title[0]:
                self.title = (rank, title)


class SessionLog:
    """All lines of an input, by session."""

    def __init__(self, moments: Moments, remarks: Remarks) -> None:
        self._moments = moments
        self._remarks = remarks
        self.sessions: dict[JSON, Session] = {}
        self.lines: dict[str, SessionLine] = {}
        self._of_session: dict[tuple[JSON, str], SessionLine] = {}
        self._by_uuid: dict[str, SessionLine] = {}
        self._home: dict[str, Session] = {}
        self._homeless: list[tuple[Position, Mapping[str, JSON], str]] = []
        self._last: JSON = None

    def take(self, found: Found) -> Iterator[Refused]:
        """Take the lines of a value of the input."""
        value = found.value
        if isinstance(value, list):
            for place, item in enumerate(value):
                yield from self._one(f"{found.position}[{place}]", item)
        elif isinstance(value, dict) and isinstance(value.get(LOG), list):
            name = first_id(value, "session_id", "sessionId", "id", "uuid")
            home: JSON = name if name is not None else (str(found.position),)
            self._session(home, name, found.position).beside = rest_of(value, LOG)
            for place, item in enumerate(value[LOG]):
                yield from self._one(f"{found.position}.{LOG}[{place}]", item, home)
        else:
            yield from self._one(found.position, value)

    def _one(self, position: Position, value: JSON, home: JSON = None) -> Iterator[Refused]:
        if not isinstance(value, dict):
            yield Refused(position, f"no line of a session but a value of {type(value).__name__}")
            return
        try:
            # Within what will be around it, so that nothing later is the first to find it too deep.
            text = dump_text(_around(value))
        except RecursionError:
            yield Refused(position, f"nested too deeply; at most {MAX_DEPTH} levels")
            return
        name = first_id(value, "sessionId") if home is None else None
        if name is not None:
            home = self._last = name
        elif home is None and is_spoken(value):
            home = self._last
        elif home is None:
            self._homeless.append((position, value, text))
            return
        self._line(position, value, text, self._session(home, name, position), home)

    def _session(self, home: JSON, name: str | None, position: Position) -> Session:
        return self.sessions.setdefault(home, Session(name, position))

    def _line(
        self, position: Position, value: Mapping[str, JSON], text: str, session: Session, home: JSON
    ) -> None:
        uuid = value.get("uuid")
        spoken = is_spoken(value)
        key = uuid if isinstance(uuid, str) and uuid else f"[{len(self.lines)}]"
        if key in self.lines:
            earlier = self._of_session.get((home, key))
            if earlier is not None and same_json(dict(earlier.value), dict(value)):
                self._remarks.add("lines that occur twice are taken once", key)
                return
            key = f"{key}#{len(self.lines)}"
        session.content.add(text)
        if not spoken:
            session.entitle(value)
            session.others.append(value)
            if not isinstance(uuid, str):
                return
        made = self._moments.read_or_clock(value.get("timestamp"), uuid)
        side = value.get("isSidechain") is True
        line = SessionLine(key, position, value, session.id, made, spoken, side)
        self.lines[key] = line
        session.lines.append(line)
        if isinstance(uuid, str):
            self._of_session.setdefault((home, uuid), line)
            self._by_uuid.setdefault(uuid, line)
            self._home.setdefault(uuid, session)

    def settle(self) -> Forest:
        """Give every line its session and its parent, when all are read; the tree of all lines."""
        for position, value, text in self._homeless:
            names = (value.get("leafUuid"), value.get("messageId"))
            known = (self._home.get(name) for name in names if isinstance(name, str))
            session = next((one for one in known if one is not None), None)
            if session is not None:
                session.entitle(value)
            else:
                first = next(iter(self.sessions), None)
                session = self._session(first, None, position)
            session.others.append(value)
            session.content.add(text)
        for home, session in self.sessions.items():
            self._link(home, session)
        moved = set_in_a_row(self.lines)
        for _ in range(moved):
            self._remarks.add("results of tools that ran side by side were set in a row")
        return Forest(
            {key: Node(line.parent, line.made, line.is_message) for key, line in self.lines.items()}
        )

    def _link(self, home: JSON, session: Session) -> None:
        linked = any(isinstance(line.value.get("parentUuid"), str) for line in session.lines)
        has_main = not session.is_side_only()
        previous: dict[tuple[bool, str | None], str] = {}
        for line in session.lines:
            named = line.value.get("parentUuid")
            speaker = (line.is_side, agent_of(line))
            if isinstance(named, str):
                parent = self._of_session.get((home, named)) or self._by_uuid.get(named)
                line.parent = parent.key if parent is not None else named
                if line.is_side and has_main and parent is not None and not parent.is_side:
                    line.parent = None
            elif line.is_message and (not linked or not isinstance(line.value.get("uuid"), str)):
                line.parent = previous.get(speaker)
            if line.is_message:
                previous[speaker] = line.key
