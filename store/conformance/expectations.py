"""What contracts expect. Not ``assert``, which ``python -O`` leaves out: a contract must be able to fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from convostore.schemas.json_values import same_json

__all__ = ["Broken", "Refusal", "equal", "holds", "refused", "same"]

E = TypeVar("E", bound=BaseException)


class Broken(AssertionError):
    """A contract's promise was not kept."""


class Refusal(Generic[E]):
    """The error that a call was refused with; ``error`` is there after the ``with`` block."""

    error: E


def holds(condition: bool, what: str) -> None:
    """Expect that something is so.

    Raises:
        Broken: it is not; the text is ``what``.

    """
    if not condition:
        raise Broken(what)


def equal(actual: object, wanted: object, what: str) -> None:
    """Expect two values to be equal in Python's sense.

    Raises:
        Broken: they are not.

    """
    if actual != wanted:
        raise Broken(f"{what}: {_shown(actual)} where {_shown(wanted)} was expected")


def same(actual: Any, wanted: Any, what: str) -> None:
    """Expect two values to be equal JSON: types and the order of keys count.

    Raises:
        Broken: they are not.

    """
    if not same_json(actual, wanted):
        place, found, missed = _difference(actual, wanted)
        raise Broken(f"{what}{place}: {_shown(found)} where {_shown(missed)} was expected")


@contextmanager
def refused(kind: type[E], what: str) -> Iterator[Refusal[E]]:
    """Expect the block to raise an error of that kind; another one passes through.

    Raises:
        Broken: the block ended without one.

    """
    refusal: Refusal[E] = Refusal()
    try:
        yield refusal
    except kind as error:
        refusal.error = error
        return
    raise Broken(f"{what} was not refused with {kind.__name__}")


def _difference(actual: Any, wanted: Any) -> tuple[str, Any, Any]:
    """The innermost place where two values differ, and what each has there."""
    place = ""
    while True:
        steps: list[Any] = []
        if type(actual) is dict and type(wanted) is dict:
            if list(actual) != list(wanted):
                return f"{place}, its keys", list(actual), list(wanted)
            steps = list(wanted)
        elif type(actual) is list and type(wanted) is list and len(actual) == len(wanted):
            steps = list(range(len(wanted)))
        step = next((one for one in steps if not same_json(actual[one], wanted[one])), None)
        if step is None:
            return place, actual, wanted
        place, actual, wanted = f"{place}[{step!a}]", actual[step], wanted[step]


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 300 else f"{text[:140]} ... {text[-140:]}"
