"""Messages that name their parents, as lines: the active one whole, every other from where it leaves. Pure.

Only the parent links count; lists of children that sources keep beside them drift (cases B05). The order in
which nodes come does not matter, and no form of them is an error: a parent that is not there begins a line
of its own, a circle of parents is cut before its first node, several roots are several lines.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Forest", "Line", "Node"]


@dataclass(frozen=True, slots=True)
class Node:
    """A place in a tree; one that is no message only links others. ``made`` is milliseconds since 1970."""

    parent: str | None
    made: int | None = None
    is_message: bool = True


@dataclass(frozen=True, slots=True)
class Line:
    """A path of messages from where it leaves another line.

    ``parent`` is the index of that line, None when it begins by itself; ``after`` is how many messages the
    whole line has before its own, so 0 then. ``own`` holds the nodes that are messages, in order.
    """

    parent: int | None
    after: int
    own: tuple[str, ...]


class Forest:
    """Nodes by id, in the order of their source.

    ``orphans`` are the nodes whose parent is not among them, ``circles`` those before which a circle of
    parents was cut.
    """

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self.nodes = nodes
        self._place = {id: place for place, id in enumerate(nodes)}
        self._parent = {id: node.parent for id, node in nodes.items() if node.parent in nodes}
        self.orphans = [
            id for id, node in nodes.items() if node.parent is not None and node.parent not in nodes
        ]
        self.circles = self._cut_circles()
        self._children: dict[str, list[str]] = {}
        for id in nodes:
            parent = self._parent.get(id)
            if parent is not None:
                self._children.setdefault(parent, []).append(id)

    def _cut_circles(self) -> list[str]:
        cut = []
        known: set[str] = set()
        for start in self.nodes:
            walked: dict[str, None] = {}
            id: str | None = start
            while id is not None and id not in known:
                if id in walked:
                    steps = list(walked)
                    first = min(steps[steps.index(id) :], key=self._place.__getitem__)
                    del self._parent[first]
                    cut.append(first)
                    break
                walked[id] = None
                id = self._parent.get(id)
            known.update(walked)
        return cut

    def parent(self, id: str) -> str | None:
        """The parent, where there is one."""
        return self._parent.get(id)

    def children(self, id: str) -> Sequence[str]:
        """The nodes that name it as their parent, in their order."""
        return self._children.get(id, ())

    def path(self, id: str) -> list[str]:
        """The nodes from the root to this one."""
        found: list[str] = []
        step: str | None = id
        while step is not None:
            found.append(step)
            step = self._parent.get(step)
        found.reverse()
        return found

    def newest_leaf(self) -> str | None:
        """The leaf of the latest time, of equals the last; None without any message.

        A leaf that has no time has that of the nearest node above that has one. Leaves without a message on
        their path do not count.
        """
        age: dict[str, int] = {}
        spoken: set[str] = set()
        for id in self._downwards():
            node, parent = self.nodes[id], self._parent.get(id)
            age[id] = node.made if node.made is not None else -1 if parent is None else age[parent]
            if node.is_message or parent in spoken:
                spoken.add(id)
        leaves = [id for id in spoken if id not in self._children]
        return max(leaves, key=lambda id: (age[id], self._place[id]), default=None)

    def _downwards(self) -> Iterator[str]:
        waiting = [id for id in self.nodes if id not in self._parent]
        while waiting:
            id = waiting.pop()
            yield id
            waiting.extend(self.children(id))

    def last_leaf(self, root: str) -> str:
        """The leaf that the last child leads to, at every step from ``root``."""
        while root in self._children:
            root = self._children[root][-1]
        return root

    def lines(self, leaves: Sequence[str]) -> list[Line]:
        """The lines to ``leaves``, one for each and in that order, then those that hold every other message.

        A line comes after the one that it leaves. Beside the given ones none is empty, and each follows the
        oldest child at every step, so that it stays what it is when later ones come.
        """
        found: list[Line] = []
        # Of every node of a line: the line and how many messages that has up to it. Where a line has none of
        # its own yet, that is the place where it leaves another.
        at: dict[str, tuple[int | None, int]] = {}
        for leaf in leaves:
            path = self.path(leaf)
            fresh = next((place for place, id in enumerate(path) if id not in at), len(path))
            origin = at[path[fresh - 1]] if fresh else (None, 0)
            found.append(self._line(path[fresh:], origin, len(found), at))
        starts = deque(id for id in self.nodes if id not in at and self._leaves_known(id, at))
        while starts:
            path = self._oldest_path(starts.popleft())
            parent = self._parent.get(path[0])
            line = self._line(path, at[parent] if parent is not None else (None, 0), len(found), at)
            if line.own:
                found.append(line)
            for id in path:
                starts.extend(child for child in self.children(id) if child not in at)
        return found

    def _leaves_known(self, id: str, at: Mapping[str, object]) -> bool:
        parent = self._parent.get(id)
        return parent is None or parent in at

    def _line(
        self,
        path: Sequence[str],
        origin: tuple[int | None, int],
        index: int,
        at: dict[str, tuple[int | None, int]],
    ) -> Line:
        own = []
        for id in path:
            if self.nodes[id].is_message:
                own.append(id)
            at[id] = (index, origin[1] + len(own)) if own else origin
        return Line(origin[0], origin[1], tuple(own))

    def _oldest_path(self, start: str) -> list[str]:
        path = [start]
        while children := self._children.get(path[-1]):
            path.append(min(children, key=self._birth))
        return path

    def _birth(self, id: str) -> tuple[bool, int, int]:
        made = self.nodes[id].made
        return made is None, made or 0, self._place[id]
