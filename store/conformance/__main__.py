"""``python -m convostore.store.conformance [URI]``: run the contracts on a database and tell what held.

Exit code 0 when no contract failed, 1 when one did or the database cannot be reached, 2 for wrong use.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any

from pymongo import AsyncMongoClient, MongoClient
from pymongo.errors import ConfigurationError

from convostore.schemas.errors import ConvostoreError, UnavailableError
from convostore.store.conformance import CONTRACTS, Outcome, Report, run_contracts, run_contracts_async
from convostore.store.engine import resolve_uri
from convostore.store.faults import translated

_DATABASE = "convostore_conformance"
_IN_MEMORY = "mongomock:"
_MARKS = {"passed": "ok", "failed": "FAILED", "not offered": "not offered"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the contracts that the arguments name; the exit code."""
    asked = _parser().parse_args(arguments)
    if asked.list:
        for contract in CONTRACTS:
            print(f"{contract.id}  {contract.group:12} {contract.name}: {contract.promise}")
        return 0
    try:
        options = {
            "only": asked.only,
            "on_outcome": None if asked.json else _tell,
            "timeout": asked.timeout,
        }
        report = _run(asked.uri, asked.face, options)
    except ValueError as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
    except ConvostoreError as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 1
    print(json.dumps(report.to_json(), indent=2) if asked.json else report.summary())
    return 0 if report else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m convostore.store.conformance",
        description="Run the numbered contracts of a conversation store on a database. They use collections "
        f"of their own, which are removed, in the database the URI names, else in {_DATABASE}.",
    )
    parser.add_argument(
        "uri",
        nargs="?",
        help="mongodb://..., embedded:PATH, or mongomock: for the test double; else CONVOSTORE_URI",
    )
    parser.add_argument("--face", choices=("sync", "async", "motor"), default="sync", help="which API to try")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="a contract (C021) or a group; repeatable"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=30.0,
        metavar="SECONDS",
        help="of each call of the store (default 30)",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--list", action="store_true", help="name the contracts and run none")
    return parser


def _tell(outcome: Outcome) -> None:
    contract = outcome.contract
    line = f"{_MARKS[outcome.verdict]:12}{contract.id}  {contract.group:12} {contract.name}"
    print(f"{line}: {outcome.detail}" if outcome.detail else line, flush=True)


def _run(uri: str | None, face: str, options: dict[str, Any]) -> Report:
    if uri == _IN_MEMORY:
        return _run_in_memory(face, options)
    named, engine = resolve_uri(uri)
    try:
        with translated("connect"):
            if face == "sync":
                with MongoClient[dict[str, Any]](named) as client:
                    return run_contracts(_database(client), **options)
            return asyncio.run(_run_async(named, face, options))
    finally:
        if engine is not None:
            engine.stop()


async def _run_async(uri: str, face: str, options: dict[str, Any]) -> Report:
    if face == "async":
        async with AsyncMongoClient[dict[str, Any]](uri) as client:
            return await run_contracts_async(_database(client), **options)
    try:
        from motor.motor_asyncio import AsyncIOMotorClient
    except ImportError:
        raise UnavailableError("motor is not installed: pip install 'convostore[motor]'") from None
    motor: Any = AsyncIOMotorClient(uri)
    try:
        return await run_contracts_async(_database(motor), **options)
    finally:
        motor.close()


def _run_in_memory(face: str, options: dict[str, Any]) -> Report:
    try:
        import mongomock
    except ImportError:
        raise UnavailableError("mongomock is not installed: pip install mongomock") from None
    database: Any = mongomock.MongoClient()[_DATABASE]
    if face == "sync":
        return run_contracts(database, **options)
    return asyncio.run(run_contracts_async(database, **options))


def _database(client: Any) -> Any:
    try:
        return client.get_default_database()
    except ConfigurationError:
        return client[_DATABASE]


if __name__ == "__main__":
    sys.exit(main())
