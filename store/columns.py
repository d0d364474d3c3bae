"""Rows of figures as columns: tables of Apache Arrow (extra ``analytics``). Pure."""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

from convostore.schemas.errors import InvalidRecordError, UnavailableError
from convostore.schemas.periods import zone_named
from convostore.store.figures import members_of

if TYPE_CHECKING:
    import pyarrow

__all__ = ["to_arrow"]

_MOMENTS = frozenset({"start"})


def to_arrow(rows: Sequence[Any], *, zone: str = "UTC", kind: type | None = None) -> pyarrow.Table:
    """The rows of one answer of ``store.analytics`` as a table: a column for each member, in its order.

    Whole numbers are ``uint64`` (a counter goes up to 2^64-1; durations are ms), ``start`` is
    ``timestamp[ms, zone]``, fractions are ``float64``, names ``string``; lists are lists of structs. ``kind``
    is the class of the rows, needed where there may be none. Half a character (a lone surrogate, in a reason)
    is its escape, since UTF-8 has none. ``pyarrow.parquet.write_table`` writes it as
    Parquet, ``.to_pandas()`` makes a data frame.

    Raises:
        QueryError: there is no such zone.
        InvalidRecordError: the rows are of different classes or of no class of rows, or there are none and
            ``kind`` is not given.
        UnavailableError: pyarrow is not installed.

    """
    zone_named(zone)
    wanted = kind or (type(rows[0]) if rows else None)
    if wanted is None:
        raise InvalidRecordError("kind", "there are no rows: say of which class they would be")
    if not hasattr(wanted, "_fields") or any(type(row) is not wanted for row in rows):
        raise InvalidRecordError("rows", f"not all of them are {wanted.__name__}")
    try:
        import pyarrow
    except ImportError as error:
        raise UnavailableError(
            'tables of Arrow need pyarrow: pip install "convostore[analytics]"', capability="arrow"
        ) from error
    schema = pyarrow.schema(
        [
            pyarrow.field(name, pyarrow.timestamp("ms", zone), nullable=False)
            if name in _MOMENTS
            else _column(name, hint)
            for name, hint in _members(wanted)
        ]
    )
    return pyarrow.Table.from_pylist([_valid(members_of(row)) for row in rows], schema=schema)


def _valid(value: Any) -> Any:
    """The value with texts that UTF-8 can hold: half a character is written as its escape."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {name: _valid(one) for name, one in value.items()}
    return [_valid(one) for one in value] if isinstance(value, (list, tuple)) else value


def _members(kind: Any) -> list[tuple[str, Any]]:
    hints = get_type_hints(kind)
    return [(name, hints[name]) for name in kind._fields]


def _column(name: str, hint: Any) -> Any:
    import pyarrow

    nullable = get_origin(hint) in (Union, types.UnionType)
    if nullable:
        (hint,) = (one for one in get_args(hint) if one is not type(None))
    return pyarrow.field(name, _type(hint), nullable=nullable)


def _type(hint: Any) -> Any:
    import pyarrow

    if get_origin(hint) is tuple:
        return pyarrow.list_(_type(get_args(hint)[0]))
    if hasattr(hint, "_fields"):
        return pyarrow.struct([_column(name, one) for name, one in _members(hint)])
    return {int: pyarrow.uint64(), float: pyarrow.float64(), str: pyarrow.string()}[hint]
