"""The parents of lines of Claude Code's sessions, results of tools that ran side by side set in a row. Pure.

When an answer asks for several tools, each result names the line of its own call as its parent, and the
answer goes on from one of them: by the parents alone the other results are branches, and the calls seem
unanswered. Here all results of an answer follow it, one after the other, as in what the model was sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from convostore.schemas.formats.claude_code_lines import SessionLine

__all__ = ["set_in_a_row"]


def set_in_a_row(lines: Mapping[str, SessionLine]) -> int:
    """Change the parents so; how many lines were moved.

    Results of the same call are alternatives and stay branches, and so does all that goes on from another one
    than the rest.
    """
    family = _Family(lines)
    moved = 0
    for answer in family.answers():
        moved += family.gather(answer)
    return moved


class _Family:
    def __init__(self, lines: Mapping[str, SessionLine]) -> None:
        self.lines = lines
        self._order = {key: place for place, key in enumerate(lines)}
        # The nearest message above each message, whatever lies between.
        self.above = {key: self._above(line) for key, line in lines.items() if line.is_message}
        self.below: dict[str, list[str]] = {}
        for key, parent in self.above.items():
            if parent is not None:
                self.below.setdefault(parent, []).append(key)

    def _above(self, line: SessionLine) -> str | None:
        seen = {line.key}
        step = line.parent
        while step is not None and step in self.lines and step not in seen:
            if self.lines[step].is_message:
                return step
            seen.add(step)
            step = self.lines[step].parent
        return None

    def answers(self) -> Iterator[list[str]]:
        found: dict[tuple[str | None, bool, str], list[str]] = {}
        for key, line in self.lines.items():
            answer = line.answer
            if answer is not None:
                found.setdefault((line.session, line.is_side, answer), []).append(key)
        yield from found.values()

    def gather(self, answer: list[str]) -> int:
        """Set the results of one answer, given as its lines in order, in a row after its last line."""
        last = answer[-1]
        results = [
            key
            for part in answer
            for key in self.below.get(part, ())
            if self.lines[key].answered_calls() and not self._leads_to(key, answer)
        ]
        times = Counter(call for key in results for call in self.lines[key].answered_calls())
        results = [
            key for key in results if all(times[call] == 1 for call in self.lines[key].answered_calls())
        ]
        if len(results) < 2 and all(self.above[key] == last for key in results):
            return 0
        results.sort(key=self._order.__getitem__)
        ends = [key for key in results if not self.below.get(key)]
        goes_on = [key for key in results if self.below.get(key)]
        others = [key for key in self.below.get(last, ()) if key not in results]
        step, moved = last, 0
        for key in ends:
            moved += self._move(key, step)
            step = key
        for key in goes_on + (others if step != last else []):
            moved += self._move(key, step)
        return moved

    def _leads_to(self, key: str, answer: list[str]) -> bool:
        """Whether the answer itself goes on after this result."""
        seen = {answer[0]}
        step: str | None = answer[-1]
        while step is not None and step not in seen:
            if step == key:
                return True
            seen.add(step)
            step = self.above.get(step)
        return False

    def _move(self, key: str, parent: str) -> bool:
        earlier = self.above[key]
        if earlier == parent:
            return False
        self.lines[key].parent = parent
        self.above[key] = parent
        if earlier is not None:
            self.below[earlier].remove(key)
        self.below.setdefault(parent, []).append(key)
        return True
