"""How the server answers the commands that a store really sends: stages, keys looked at, results."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pymongo.monitoring import CommandStartedEvent

from support.command_log import CommandLog, Sent

_EXPLAINED = frozenset({"find", "aggregate", "findAndModify", "update", "delete"})

# What belongs to a session or to the sending of a command, not to what it asks.
_SENDING = frozenset({"lsid", "$clusterTime", "txnNumber", "$db", "writeConcern", "maxTimeMS", "comment"})


@dataclass(frozen=True, slots=True)
class Plan:
    """How one command is answered. ``returned`` counts documents given back, changed or counted."""

    sent: Sent
    stages: frozenset[str]
    indexes: frozenset[str]
    keys: int
    returned: int
    sorts: tuple[float, ...] = ()
    """For each sort the most documents it keeps; infinite for one that keeps all."""

    @property
    def scans(self) -> bool:
        """Whether the whole collection is read."""
        return "COLLSCAN" in self.stages

    @property
    def is_frugal(self) -> bool:
        """Whether it looks at no more keys than twice what it gives, and ten."""
        return self.keys <= 2 * self.returned + 10

    def __str__(self) -> str:
        where = f"{self.sent.command.get('comment')}: {self.sent.name} on {self.sent.collection}"
        stages = ", ".join(sorted(self.stages))
        return (
            f"{where} looked at {self.keys} keys for {self.returned} results ({stages}; {set(self.indexes)})"
        )


class ExplainingLog(CommandLog):
    """A command log that has each command explained just before it is sent, by a client of its own."""

    def __init__(self, database: Any) -> None:
        super().__init__()
        self.plans: list[Plan] = []
        self._database = database

    def started(self, event: CommandStartedEvent) -> None:
        before = len(self.sent)
        super().started(event)
        for sent in self.sent[before:]:
            if sent.name in _EXPLAINED and "$changeStream" not in str(sent.command.get("pipeline", "")):
                self.plans.append(explain(self._database, sent))

    def clear(self) -> None:
        super().clear()
        self.plans.clear()


def explain(database: Any, sent: Sent) -> Plan:
    """Let the server run the command on its plan, writes only as if, and tell."""
    command = {name: value for name, value in sent.command.items() if name not in _SENDING}
    reply = database.command({"explain": command, "verbosity": "executionStats"})
    statistics = next(_found(reply, "executionStats"))
    names = ("nMatched", "nWouldModify", "nWouldDelete")
    changed = [count for name in names for count in _found(statistics["executionStages"], name)]
    counted = [row["n"] for row in _counted(sent, database)]
    return Plan(
        sent,
        frozenset(_found(reply, "stage")),
        frozenset(_found(reply, "indexName")),
        statistics["totalKeysExamined"],
        max([statistics["nReturned"], *changed, *counted]),
        tuple(
            stage.get("limitAmount") or math.inf
            for stage in _stages(statistics["executionStages"])
            if stage["stage"] == "SORT"
        ),
    )


def _counted(sent: Sent, database: Any) -> list[dict[str, Any]]:
    # A count may be answered without giving any document to the stage that counts.
    pipeline = sent.command.get("pipeline", [])
    if not any("$count" in stage for stage in pipeline):
        return []
    return list(database[sent.collection].aggregate(pipeline))


def _stages(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        if "stage" in value:
            yield value
        for item in value.values():
            yield from _stages(item)
    elif isinstance(value, list):
        for item in value:
            yield from _stages(item)


def _found(value: Any, name: str) -> Iterator[Any]:
    """Every value of that name in the tree, but for what plans that lost would have done."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key == name:
                yield item
            if key not in ("rejectedPlans", "command", "slotBasedPlan"):
                yield from _found(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _found(item, name)
