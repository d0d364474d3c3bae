"""The run states of OpenAI's agents, of the program in Python and the one in JavaScript. Pure.

Members are named ``generated_items`` in one and ``generatedItems`` in the other; the first is said here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from convostore.schemas.formats.counters import usage_of
from convostore.schemas.formats.parts import rest_of
from convostore.schemas.formats.remarks import Remarks
from convostore.schemas.json_values import JSON, dump_text
from convostore.schemas.usage import Usage

__all__ = ["is_run_state", "items_of", "rest_of_state", "trace_of", "usage_in"]

_INPUT = ("original_input", "originalInput")
_GENERATED = ("generated_items", "generatedItems")
_RAW = ("raw_item", "rawItem")
_APPROVAL = "tool_approval_item"


def is_run_state(value: JSON) -> bool:
    """Whether it is the state of a run."""
    if not isinstance(value, dict) or "$schemaVersion" not in value:
        return False
    given = _member(value, _INPUT)
    return isinstance(given, (str, list)) or isinstance(_member(value, _GENERATED), list)


def _member(value: Mapping[str, Any], names: Iterable[str]) -> JSON:
    return next((value[name] for name in names if name in value), None)


def items_of(value: Mapping[str, Any]) -> tuple[str | list[JSON], list[JSON]]:
    """What the run was given, and the items it made, but for calls that wait for somebody to approve them."""
    given, made = _member(value, _INPUT), _member(value, _GENERATED)
    items = [
        _member(one, _RAW) if _has_item(one) else one
        for one in (made if isinstance(made, list) else [])
        if not isinstance(one, dict) or one.get("type") != _APPROVAL
    ]
    return given if isinstance(given, (str, list)) else [], items


def _has_item(value: JSON) -> bool:
    return isinstance(value, dict) and _member(value, _RAW) is not None


def trace_of(value: Mapping[str, Any]) -> str | None:
    """The id of the run's trace."""
    trace = value.get("trace")
    found = [trace.get(name) for name in ("trace_id", "id")] if isinstance(trace, dict) else []
    return next((id for id in found if isinstance(id, str) and id.startswith("trace_")), None)


def usage_in(value: Mapping[str, Any], remarks: Remarks) -> Usage | None:
    """What the run used so far."""
    context = value.get("context")
    usage = context.get("usage") if isinstance(context, dict) else None
    requests = usage.get("requests") if isinstance(usage, dict) else None
    return usage_of(
        usage, remarks, requests=requests if type(requests) is int and 0 <= requests < 2**32 else 1
    )


def rest_of_state(value: Mapping[str, Any], items: Iterable[JSON]) -> dict[str, JSON]:
    """The other members; items that lie among the run's are left out of them."""
    known = {dump_text(item) for item in items if isinstance(item, (dict, list))}
    given, made = (next((name for name in names if name in value), "") for names in (_INPUT, _GENERATED))
    rest = rest_of(value, given if isinstance(value.get(given), (str, list)) else "")
    found = {name: _without(item, known) for name, item in rest.items()}
    if isinstance(found.get(made), list) and not any(found[made]):
        del found[made]
    return found


def _without(value: JSON, known: set[str]) -> JSON:
    if isinstance(value, list):
        return [_without(item, known) for item in value]
    if not isinstance(value, dict):
        return value
    return {name: _without(item, known) for name, item in value.items() if not _says_again(name, item, known)}


def _says_again(name: str, item: JSON, known: set[str]) -> bool:
    if name in _RAW:
        return isinstance(item, dict) and dump_text(item) in known
    return (
        name == "output"
        and isinstance(item, list)
        and bool(item)
        and all(isinstance(one, dict) and dump_text(one) in known for one in item)
    )
