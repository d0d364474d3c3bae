"""What a reader did on the way, each kind once with how often and the first example. Pure."""

from __future__ import annotations

from convostore.schemas.json_values import JSON

__all__ = ["Remarks"]


class Remarks:
    """Collects remarks on one conversation."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}
        self._example: dict[str, str] = {}

    def add(self, what: str, example: JSON = None) -> None:
        """Count one more of ``what``; the example is shown short."""
        self._count[what] = self._count.get(what, 0) + 1
        if example is not None:
            is_short = not isinstance(example, (dict, list))
            self._example.setdefault(what, f"{example!a:.60}" if is_short else f"a {type(example).__name__}")

    def lines(self) -> tuple[str, ...]:
        """One line for each kind.

        >>> remarks = Remarks()
        >>> remarks.add("times that cannot be read are missing", "soon")
        >>> remarks.lines()
        ("times that cannot be read are missing: 1, as 'soon'",)
        """
        return tuple(
            f"{what}: {count}" + (f", as {self._example[what]}" if what in self._example else "")
            for what, count in self._count.items()
        )
