"""Numbered contracts that a store must keep, run on any database: by ``python -m`` or by calling.

>>> import mongomock
>>> report = run_contracts(mongomock.MongoClient().tried, only=["C021", "C141"])
>>> bool(report), [outcome.contract.id for outcome in report.passed]
(True, ['C021', 'C141'])
"""

from convostore.store.conformance.asynchronous.suite import run_contracts as run_contracts_async
from convostore.store.conformance.contracts import Contract, Outcome, Report
from convostore.store.conformance.expectations import Broken
from convostore.store.conformance.synchronous.suite import CONTRACTS, run_contracts

__all__ = ["CONTRACTS", "Broken", "Contract", "Outcome", "Report", "run_contracts", "run_contracts_async"]
