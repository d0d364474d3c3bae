"""Files of the canonical format in which something was changed: told in the report, nothing broken."""

from __future__ import annotations

import copy
import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from convostore.schemas.conversations import Conversation
from convostore.schemas.errors import ImportFormatError, SchemaVersionError
from convostore.schemas.resources import Resource
from convostore.store import ConversationStore
from support.accounts import Account, assert_adds_up
from support.importing import ODD_VALUES, at, places_of
from support.scale import SCALE

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def written(import_store: ConversationStore) -> list[Any]:
    """The lines of an export with a fork, an edit, a queue, a change of status and a resource."""
    store, user = import_store, "who exports"
    record = Conversation(user=user, messages=[{"role": "user", "content": str(n)} for n in range(3)])
    id = store.create(record).id
    store.resources.add(Resource(name="n", blob=b"abc"), user=user)
    store.edit(id, 1, {"role": "user", "content": "edited"})
    store.fork(id, 1, exact=True)
    store.set_status(id, "working")
    store.steer(id, "later")
    parts: list[bytes] = []
    store.export_conversations(parts.append, user=user)
    return [json.loads(line) for line in b"".join(parts).splitlines()]


@settings(max_examples=max(40, round(3_000 * SCALE)), deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_changed_member_of_a_canonical_file_is_told(
    import_store: ConversationStore, written: list[Any], data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from(sorted(places_of(written), key=str)))
    odd = data.draw(st.sampled_from([*ODD_VALUES, "no member at all"]))
    lines = copy.deepcopy(written)
    holder = at(lines, path[:-1])
    if odd == "no member at all":
        del holder[path[-1]]
    else:
        holder[path[-1]] = odd
    source = "".join(json.dumps(line) + "\n" for line in lines).encode()
    account = Account(import_store, f"importer of a changed file {next(_numbers)}")
    try:
        tried = account.take(source, format="convostore", dry_run=True)
        report = account.take(source, format="convostore")
    except (ImportFormatError, SchemaVersionError) as error:
        assert str(error)
        return
    assert_adds_up(report)
    assert (tried.read, tried.imported, tried.failed) == (report.read, report.imported, report.failed)
    assert same_json_lines(lines, written) or not report, "a changed file passed for a whole one"
    found = import_store.check(user=account.user)
    assert found, found.findings


def same_json_lines(one: list[Any], other: list[Any]) -> bool:
    return json.dumps(one) == json.dumps(other)
