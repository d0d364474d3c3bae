"""What became of each check of a session store. Values only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["SessionCheck", "SessionReport"]


@dataclass(frozen=True, slots=True)
class SessionCheck:
    """One check: its name and, when it was not kept, what was found."""

    name: str
    violation: str | None = None

    @property
    def passed(self) -> bool:
        """Whether it was kept."""
        return self.violation is None


@dataclass(slots=True)
class SessionReport:
    """The outcome of every check, in order; true when all were kept."""

    checks: list[SessionCheck] = field(default_factory=list)

    def __bool__(self) -> bool:
        return all(check.passed for check in self.checks)

    def __iter__(self) -> Iterator[SessionCheck]:
        return iter(self.checks)

    @property
    def violations(self) -> dict[str, str]:
        """What was found, by the check's name."""
        return {check.name: check.violation for check in self.checks if check.violation is not None}
