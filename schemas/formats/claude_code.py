"""Claude Code's sessions: JSON Lines of one or more sessions, and the web form ``{"loglines"}``. Pure.

The lines of an input are held whole, since any may be the parent of any. A conversation is a session: the
path from its newest line up to its root, through lines that are no messages and through other sessions, of
which it then goes on. What sub-agents said (``isSidechain``) is a branch that begins by itself; in a session
that holds nothing else it is the conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from convostore.schemas.formats.byte_input import ByteInput
from convostore.schemas.formats.claude_code_lines import merged, usages
from convostore.schemas.formats.claude_code_log import LOG, Session, SessionLog, agent_of
from convostore.schemas.formats.foreign import Draft, Item, Sources, Told, branch_of, remark_tree
from convostore.schemas.formats.items import Branch, Found, Noticed, Origin, ReadOptions, Refused
from convostore.schemas.formats.json_layout import json_values
from convostore.schemas.formats.moments import Moments
from convostore.schemas.formats.parts import Piece
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.formats.session_lines import kept_lines
from convostore.schemas.formats.trees import Forest, Line
from convostore.schemas.json_values import JSON

__all__ = ["NAME", "fits", "read"]

NAME = "claude-code"

_SIGNS = ({"sessionId"}, {"leafUuid"}, {"uuid", "parentUuid"}, {"snapshot", "messageId"})


def fits(value: JSON) -> bool:
    """Whether the value looks like what this format holds."""
    if isinstance(value, list):
        return any(map(fits, value[:3]))
    if not isinstance(value, dict):
        return False
    if isinstance(value.get(LOG), list):
        return True
    if not isinstance(value.get("type"), str) or "payload" in value:
        return False
    names = value.keys()
    return any(signs <= names for signs in _SIGNS)


def read(source: ByteInput, options: ReadOptions) -> Iterator[Item]:
    """The sessions in the input.

    Raises:
        InvalidRecordError: ``options.user`` is missing or no valid id.

    """
    sources = Sources(NAME, options, names_user=False)
    return _read(source, sources)


def _read(source: ByteInput, sources: Sources) -> Iterator[Item]:
    remarks = Remarks()
    log = SessionLog(Moments(remarks), remarks)
    for found in json_values(source):
        if isinstance(found, Refused):
            yield found
            continue
        for note in found.notes:
            yield Noticed(found.position, note)
        yield from log.take(found)
    yield from _Telling(log, remarks, sources).items()


class _Telling:
    """All sessions of an input, being turned into conversations."""

    def __init__(self, log: SessionLog, remarks: Remarks, sources: Sources) -> None:
        self._log = log
        self._remarks = remarks
        self._sources = sources

    def items(self) -> Iterator[Item]:
        sessions = self._log.sessions.values()
        forest = self._log.settle()
        remark_tree(forest, self._remarks)
        spoken = sorted((one for one in sessions if one.messages()), key=Session.begins)
        lines = forest.lines([session.leaf(forest) for session in spoken])
        told = self._told(forest, lines, spoken)
        owner_of = self._owners(told, spoken)
        ids = [self._sources.identified(one.source_id(), one.content.sha256()) for one in spoken]
        names = [source.id for source in ids]
        branches: list[list[Branch]] = [[] for _ in spoken]
        agents: set[tuple[int, str]] = set()
        for number in range(len(spoken), len(told)):
            owner = owner_of[number]
            branch = self._branch(told[number], names, owner, agents)
            names.append(branch.source.id)
            branches[owner].append(branch)
        whole: list[Sequence[Piece]] = []
        for number, session in enumerate(spoken):
            line = told[number]
            inherited = [] if line.parent is None else whole[line.parent][: line.after]
            whole.append([*inherited, *line.pieces])
            remarks = Remarks()
            kept = kept_lines(session.others, remarks)
            draft = Draft(
                user=self._sources.owner(),
                source=ids[number],
                pieces=whole[number],
                size=session.content.size,
                branches=branches[number],
                inherited=len(inherited),
                origin=None if line.parent is None else Origin(names[line.parent], line.after),
                title=("title", None if session.title is None else session.title[1]),
                unknown={**session.beside, **({"lines": kept} if kept else {})},
                notes=remarks.lines(),
            )
            position = session.position
            yield from self._sources.each([Found(position, None)], lambda _: [draft.imported(position)])  # noqa: B023
        for session in sessions:
            if not session.messages():
                reason = f"it has no messages, only {len(session.others)} other lines"
                yield Refused(session.position, reason, session.id, skipped=True)
        for text in self._remarks.lines():
            yield Noticed("the input", text)

    def _told(self, forest: Forest, lines: Sequence[Line], spoken: Sequence[Session]) -> list[Told]:
        """The lines with their messages, counted as they are once their pieces are put together."""
        log = self._log.lines
        left = usages(log.values(), self._remarks)
        points = []
        for number, line in enumerate(lines):
            start = forest.parent(line.own[0]) if line.own else spoken[number].leaf(forest)
            points.append(_message_at(forest, start))
        split = [point for point in points if point is not None]
        reached: dict[str | None, int] = {}
        found = []
        for line, point in zip(lines, points, strict=True):
            before = 0 if line.parent is None else reached[point]
            pieces, counts = merged([log[key] for key in line.own], split, left)
            reached |= {key: before + count for key, count in counts.items()}
            found.append(Told(line.own[0] if line.own else "", line.parent, before, pieces))
        return found

    def _owners(self, told: Sequence[Told], spoken: Sequence[Session]) -> list[int]:
        """The number of the session that each line belongs to: that of the line it leaves, else its own."""
        numbers = {line.key: number for number, one in enumerate(spoken) for line in one.lines}
        owners = list(range(len(spoken)))
        for line in told[len(spoken) :]:
            owners.append(numbers[line.key] if line.parent is None else owners[line.parent])
        return owners

    def _branch(self, line: Told, names: Sequence[str], owner: int, agents: set[tuple[int, str]]) -> Branch:
        """The line as a branch; the first of a sub-agent is named by the agent, as its own file would be."""
        of, first = names[owner], self._log.lines[line.key]
        agent, key = agent_of(first), line.key
        if first.is_side:
            line.unknown = {"sidechain": True} | ({"agentId": agent} if agent is not None else {})
            if agent is not None and (owner, agent) not in agents:
                agents.add((owner, agent))
                key = f"agent-{agent}"
        return branch_of(line, names[line.parent] if line.parent is not None else of, of, key, self._sources)


def _message_at(forest: Forest, key: str | None) -> str | None:
    """The nearest message at a node or above it."""
    while key is not None and not forest.nodes[key].is_message:
        key = forest.parent(key)
    return key
