"""The examples in the docstrings of the pure modules."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from convostore import schemas

MODULES = [found.name for found in pkgutil.walk_packages(schemas.__path__, f"{schemas.__name__}.")]


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_say(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_examples_are_found() -> None:
    found = (doctest.DocTestFinder().find(importlib.import_module(name)) for name in MODULES)
    assert sum(len(one.examples) for tests in found for one in tests) >= 10
