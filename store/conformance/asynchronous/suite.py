"""Running the contracts on a database, one after the other, each on an empty store."""

from __future__ import annotations

import secrets
import time
import traceback
from collections.abc import Callable, Collection
from typing import Any, Final

from convostore.store.asynchronous.store import AsyncConversationStore
from convostore.store.capabilities import CAPABILITIES, engine_of
from convostore.store.conformance.asynchronous import (
    appending,
    blobs,
    checking,
    concurrency,
    deleting,
    editing,
    expiring,
    finding,
    lineage,
    numbers,
    paging,
    queues,
    records,
    resources,
    retrying,
    saving,
    scoping,
    sealing,
    statuses,
    watching,
)
from convostore.store.conformance.asynchronous.bench import AsyncBench
from convostore.store.conformance.contracts import Contract, Outcome, Report, contracts_of
from convostore.store.conformance.expectations import Broken

__all__ = ["CONTRACTS", "FACE", "run_contracts"]

FACE: Final = "asynchronous"

CONTRACTS: Final[tuple[Contract, ...]] = contracts_of(
    (
        records,
        appending,
        retrying,
        sealing,
        editing,
        saving,
        paging,
        queues,
        statuses,
        lineage,
        finding,
        deleting,
        expiring,
        resources,
        blobs,
        numbers,
        scoping,
        watching,
        checking,
        concurrency,
    )
)
"""Every contract, by number."""


async def run_contracts(
    database: Any,
    *,
    opener: Callable[..., AsyncConversationStore] = AsyncConversationStore,
    only: Collection[str] = (),
    on_outcome: Callable[[Outcome], None] | None = None,
    timeout: float = 30.0,
) -> Report:
    """Run the contracts, or ``only`` those of these ids (``C021``) or groups (``append``).

    They work in collections of their own, whose names begin with ``conformance_`` and a random part and which
    are removed at the end; nothing else in the database is touched. ``opener`` makes the stores and is called
    as :class:`AsyncConversationStore` is. ``on_outcome`` hears of each outcome at once. ``timeout`` bounds
    each call of a store, in seconds. A contract that fails is in the report; errors of setting up are raised.

    Raises:
        ValueError: ``only`` names what is no contract and no group.
        UnavailableError: the database cannot be reached or refused.

    """
    chosen = _chosen(only)
    engine = engine_of(database)
    report = Report(engine, FACE)
    bench = AsyncBench(database, f"conformance_{secrets.token_hex(4)}_", opener, timeout=timeout)
    await bench.another().setup()
    try:
        for contract in chosen:
            if contract.is_offered_by(engine):
                with bench.backend.call("conformance"):
                    await bench.clear()
                outcome = await _run(contract, bench.renewed())
            else:
                lacking = ", ".join(sorted(contract.needs - CAPABILITIES[engine]))
                outcome = Outcome(contract, "not offered", detail=f"{engine} has no {lacking}")
            report.outcomes.append(outcome)
            if on_outcome is not None:
                on_outcome(outcome)
    finally:
        with bench.backend.call("conformance"):
            await bench.drop()
    return report


def _chosen(only: Collection[str]) -> tuple[Contract, ...]:
    unknown = set(only) - {contract.id for contract in CONTRACTS} - {contract.group for contract in CONTRACTS}
    if unknown:
        raise ValueError(f"no contract and no group: {', '.join(sorted(unknown))}")
    return tuple(
        contract for contract in CONTRACTS if not only or contract.id in only or contract.group in only
    )


async def _run(contract: Contract, bench: AsyncBench) -> Outcome:
    began = time.monotonic()
    try:
        await contract.body(bench)
    except Exception as error:
        seconds = time.monotonic() - began
        detail = str(error) if isinstance(error, Broken) else f"{type(error).__name__}: {error}"
        return Outcome(contract, "failed", seconds, f"{detail} ({_place(contract, error)})", error)
    return Outcome(contract, "passed", time.monotonic() - began)


def _place(contract: Contract, error: BaseException) -> str:
    """The line of the contract that raised."""
    module = contract.body.__code__.co_filename
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == module]
    return f"line {frames[-1].lineno} of {contract.body.__module__}" if frames else contract.body.__module__
