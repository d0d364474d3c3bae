"""The digest of a JSON text is that of the text, which is not made as a whole for it."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from convostore.schemas import json_values as json_module
from convostore.schemas.json_values import dump_text, text_digest
from support.json_strategies import json_values

WIDE = {str(number): [number] * number for number in range(20)}


@given(st.recursive(json_values, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
@example({"a": WIDE, "b": [WIDE, [list(range(40))], {}, []], "\ud800": list("text" * 10)})
def test_the_digest_of_a_text(value: Any) -> None:
    text = dump_text(value)
    expected = hashlib.sha256(text.encode()).hexdigest(), len(text)
    for wide in (1, 16):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(json_module, "_WIDE", wide)
            assert text_digest(value) == expected
