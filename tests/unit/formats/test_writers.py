"""Every writer takes whatever messages there are, and what it writes can be read."""

from __future__ import annotations

import io
import json
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from convostore.schemas.conversations import Conversation
from convostore.schemas.entries import Source
from convostore.schemas.formats.message_rows import rows
from convostore.schemas.formats.outgoing import Losses
from convostore.schemas.formats.writers import WRITERS, file_name
from convostore.store.message_tables import MessageTable
from support.exporting import ANDA, ANTHROPIC, OPENAI, outgoing, written
from support.importing import ODD_VALUES, changed
from support.json_strategies import json_values

KNOWN = [*ANDA, *OPENAI, *ANTHROPIC]
messages = st.lists(
    st.one_of(
        json_values,
        st.sampled_from(KNOWN).flatmap(changed),
        st.fixed_dictionaries(
            {"role": st.sampled_from(["user", "assistant", "tool", "system", "odd", 5, None, ["user"], {}])},
            optional={
                "content": st.one_of(st.lists(json_values, max_size=2), json_values),
                "tool_calls": json_values,
                "name": json_values,
                "source": st.sampled_from(ODD_VALUES),
            },
        ),
    ),
    max_size=4,
)
sources = st.sampled_from(
    [None, *(Source(name, "s1") for name in ("sharegpt", "librechat", "anthropic", "openai"))]
)


@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=60, deadline=None)
@given(given=messages, source=sources)
def test_whatever_the_messages_are_they_go_out(name: str, given: list[Any], source: Source | None) -> None:
    text = written(name, outgoing(given, source=source, unknown={"x": None}))
    before, _, after = WRITERS[name].frame
    text = f"{before}{text}{after}"
    assert text.encode().decode() == text
    if name == "html":
        HTMLParser().feed(text)
    elif name != "markdown":
        json.loads(text, parse_constant=lambda found: pytest.fail(f"{found} is no JSON"))


@settings(max_examples=60, deadline=None)
@given(messages)
def test_whatever_the_messages_are_they_are_rows(given: list[Any]) -> None:
    file = io.BytesIO()
    with MessageTable(file.write) as table:
        for row in rows(outgoing(given), Losses("parquet", lambda text: None)):
            table.add(row)
    assert parquet.read_table(file).num_rows == len(given)


@pytest.mark.parametrize(
    ("title", "name"),
    [
        (None, "17.md"),
        ("Weekend in Lyon", "17-weekend-in-lyon.md"),
        ("../../etc/passwd\0", "17-etc-passwd.md"),
        ("Ünïcode 日本語 \ud800", "17-ünïcode-日本語.md"),
        ("CON: a<b>|c?*", "17-con-a-b-c.md"),
        ("word " * 40, "17" + "-word" * 12 + ".md"),
        ("x" * 500, "17.md"),
        (5, "17.md"),
    ],
)
def test_files_are_named_by_id_and_title(title: Any, name: str) -> None:
    given = outgoing([], extra={"title": title})
    assert file_name(given, ".md") == name
    assert isinstance(given.record, Conversation)
