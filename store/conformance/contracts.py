"""A contract, what became of it, and the report of a run. Values only; nothing here touches a store."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final, Literal, TypeAlias

from convostore.store.capabilities import CAPABILITIES, Engine

__all__ = ["PER_GROUP", "Contract", "Group", "Outcome", "Report", "Verdict", "contracts_of"]

PER_GROUP: Final = 20
"""Numbers kept for each group, so that a new contract does not renumber the others."""

Verdict: TypeAlias = Literal["passed", "failed", "not offered"]


@dataclass(frozen=True, slots=True)
class Contract:
    """One promise of the store, named by behaviour.

    ``id`` is ``C`` and a number that stays the same in later releases; ``promise`` says in one sentence what
    must hold; ``needs`` names the capabilities (``convostore.store.CAPABILITIES``) without which an engine is
    not asked for it; ``body`` is called with a bench and raises when the promise is not kept.
    """

    id: str
    group: str
    name: str
    promise: str
    needs: frozenset[str]
    body: Callable[[Any], Any] = field(repr=False, compare=False)

    def is_offered_by(self, engine: Engine) -> bool:
        """Whether the engine must keep it."""
        return self.needs <= CAPABILITIES[engine]


@dataclass(frozen=True, slots=True)
class Group:
    """Contracts on one subject, numbered from ``first``; each needs the capabilities ``needs``."""

    name: str
    first: int
    needs: tuple[str, ...]

    def contract(self, place: int, *needs: str) -> Callable[[Callable[[Any], Any]], Contract]:
        """Make a function the contract at ``place`` (from 0) of the group; it may need more."""
        if not 0 <= place < PER_GROUP:
            raise ValueError(f"a group has places 0 to {PER_GROUP - 1}, not {place}")

        def made(body: Callable[[Any], Any]) -> Contract:
            promise = " ".join((inspect.getdoc(body) or "").split())
            name = getattr(body, "__name__", "").replace("_", " ")
            return Contract(
                f"C{self.first + place:03}", self.name, name, promise, frozenset((*self.needs, *needs)), body
            )

        return made


def contracts_of(modules: Iterable[ModuleType]) -> tuple[Contract, ...]:
    """Every contract of the modules, by number."""
    found = [value for module in modules for value in vars(module).values() if isinstance(value, Contract)]
    return tuple(sorted(found, key=lambda contract: int(contract.id[1:])))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one contract; ``detail`` says why it failed or what it lacked, ``error`` is what it
    raised.
    """

    contract: Contract
    verdict: Verdict
    seconds: float = 0.0
    detail: str = ""
    error: BaseException | None = None


@dataclass(slots=True)
class Report:
    """The outcome of a run, contract by contract; true when none failed."""

    engine: Engine
    face: str
    outcomes: list[Outcome] = field(default_factory=list)

    def __bool__(self) -> bool:
        return not self.failed

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    def _of(self, verdict: Verdict) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.verdict == verdict)

    @property
    def passed(self) -> tuple[Outcome, ...]:
        """Contracts that were kept."""
        return self._of("passed")

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """Contracts that were broken."""
        return self._of("failed")

    @property
    def not_offered(self) -> tuple[Outcome, ...]:
        """Contracts that the engine does not offer, by design."""
        return self._of("not offered")

    def outcome(self, id: str) -> Outcome:
        """What became of the contract of that id.

        Raises:
            KeyError: the run did not have it.

        """
        for outcome in self.outcomes:
            if outcome.contract.id == id:
                return outcome
        raise KeyError(id)

    def summary(self) -> str:
        """The counts in one line."""
        counts = Counter(outcome.verdict for outcome in self.outcomes)
        verdicts: tuple[Verdict, ...] = ("passed", "failed", "not offered")
        told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in verdicts)
        return f"{self.engine}, {self.face}: {len(self.outcomes)} contracts: {told}"

    def to_json(self) -> dict[str, Any]:
        """The report as JSON: ``{engine, face, contracts: [{id, group, name, verdict, ms, detail}]}``."""
        return {
            "engine": self.engine,
            "face": self.face,
            "contracts": [
                {
                    "id": outcome.contract.id,
                    "group": outcome.contract.group,
                    "name": outcome.contract.name,
                    "verdict": outcome.verdict,
                    "ms": round(outcome.seconds * 1000, 1),
                    "detail": outcome.detail,
                }
                for outcome in self.outcomes
            ],
        }
