"""Hypothesis strategies for JSON that databases and drivers change or refuse, among ordinary JSON."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

any_text = st.text(st.characters(codec=None, exclude_categories=()), max_size=6)
"""Text of any code points, lone surrogates and NUL among them."""

keys = st.one_of(
    st.sampled_from(["$ref", "$id", "$db", "$set", "a.b", "", "_id", "role", "a\0b", "\ud800"]), any_text
)
numbers = st.one_of(
    st.sampled_from([0, -1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 2**64]),
    st.integers(),
    st.floats(),
)
atoms = st.one_of(st.none(), st.booleans(), numbers, any_text)
json_values: st.SearchStrategy[Any] = st.recursive(
    atoms,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
    max_leaves=8,
)
foreign_values = st.one_of(
    st.binary(max_size=3),
    st.datetimes(),
    st.sets(st.integers(), max_size=2),
    st.decimals(allow_nan=False),
    st.tuples(st.integers()),
    st.complex_numbers(allow_nan=False),
    st.builds(object),
)
"""What JSON cannot say."""


def deep(value: Any, levels: int) -> Any:
    """The value under so many lists and objects, by turns."""
    for level in range(levels):
        value = [value] if level % 2 else {"inner": value}
    return value
