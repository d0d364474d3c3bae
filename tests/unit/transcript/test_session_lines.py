"""Lines of saved sessions and what they mean together (spec/rig.md 7)."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from convostore.schemas.authors import Author
from convostore.schemas.errors import ConflictError, SessionFormatError
from convostore.schemas.session_blobs import put_back_blobs, take_out_blobs
from convostore.schemas.session_lines import (
    FORMAT,
    Header,
    Line,
    Retired,
    SavedValue,
    Stamp,
    read_line,
    recovered_name,
    split_torn,
    write_line,
)
from convostore.schemas.session_logs import (
    as_of,
    fold,
    fork_lines,
    history,
    log_end,
    main_agent,
    read_log,
    restorable,
    save_lines,
    saved_values,
)
from convostore.schemas.session_rewriting import rewritten_lines
from convostore.schemas.transcript import Aside, PushChange, Transcript, TurnEnd
from support.shared import shared
from support.transcripts import P, a, call, ids, res, u

HEADER = b'{"seq":0,"n":0,"t":5,"type":"header","format":"rig-session/4","log":"a1","lineage":77}\n'
PUSH = (
    b'{"seq":1,"n":1,"t":6,"type":"push","entries":[{"message":{"role":"user",'
    b'"content":[{"type":"text","text":"Name a river."}]},"id":0}]}\n'
)


def saved(t: Transcript, data: bytes = b"", *, now: int = 1000) -> bytes:
    """The log's bytes after a save, as a store would hold them."""
    end = log_end(data, "a1") if data else None
    lines = save_lines(t, "a1", end, n=end.n + 1 if end else 0, now=now)
    data += b"".join(map(write_line, lines))
    t.take_unsaved()
    end = log_end(data, "a1")
    t.continue_log(end.lineage, end.changes)
    return data


def loaded(data: bytes) -> Transcript:
    return fold(read_log(data, "a1"))


def test_lines_are_written_as_rig_writes_them() -> None:
    note = Aside.note("t", "x", author=P, after=0)
    t = Transcript.from_json({})
    t.push(u("Name a river."))
    change = t.unsaved()[0].change
    assert write_line(Line(Stamp(0, 0, 5), Header("a1", 77))) == HEADER
    assert write_line(Line(Stamp(1, 1, 6), change)) == PUSH
    assert write_line(Line(Stamp(2, 2, 7), SavedValue("k", "é"))).decode() == (
        '{"seq":2,"n":2,"t":7,"type":"state","key":"k","value":"é"}\n'
    )
    assert write_line(Line(Stamp(4, 9, 8), Retired())) == b'{"seq":4,"n":9,"t":8,"type":"retired"}\n'
    t.add_aside(note)
    line = write_line(Line(Stamp(3, 3, 7), t.unsaved()[1].change, P)).decode()
    assert line.startswith(
        '{"seq":3,"n":3,"t":7,"by":{"kind":{"plugin":"compact"}},"type":"aside","id":0,"aside":{'
    )


def test_every_line_comes_back() -> None:
    header = Header("a1", 2**64 - 2, "b0", ({"by": {"kind": "rig"}, "at": 5},))
    for record in (header, SavedValue("k", [1.5, None]), SavedValue("k"), Retired()):
        number = 1 if isinstance(record, Header) else 4
        line = Line(Stamp(number - 1, 9, 3), record, Author.agent("x"))
        assert read_line(write_line(line), "a1", number) == line


def test_a_lone_surrogate_is_written_escaped() -> None:
    line = write_line(Line(Stamp(1, 1, 1), SavedValue("k", "\ud800")))
    assert b"\\ud800" in line
    assert read_line(line, "a1", 2).record == SavedValue("k", "\ud800")


def test_what_is_saved_is_loaded_and_continues_its_log() -> None:
    t = Transcript([u("a")])
    t.push(a("b"))
    data = saved(t)
    t.dated(42, lambda t: t.push(u("c")))
    data = saved(t, data)
    back = loaded(data)
    assert back == t
    assert (back.lineage(), back.revision()) == (t.lineage(), 3)
    assert [ref.made for ref in back] == [1000, 1000, 42]
    assert data.splitlines()[3].startswith(b'{"seq":3,"n":3,"t":42,')


def test_the_second_of_two_writers_is_told() -> None:
    data = saved(Transcript([u("a")]))
    one, two = loaded(data), loaded(data)
    one.push(a("one"))
    two.push(a("two"))
    data = saved(one, data)
    with pytest.raises(ConflictError):
        saved(two, data)
    assert loaded(data) == one


def test_a_value_built_elsewhere_is_written_as_one_reset_and_only_onto_a_log_without_changes() -> None:
    other = Transcript.from_json(Transcript([u("a"), a("b")]).to_json())
    other.push(u("c"))
    data = saved(other, HEADER)
    assert [type(record).__name__ for _, record in history(read_log(data, "a1"))] == ["ChangeRecord"]
    assert b'"type":"reset"' in data and loaded(data) == other
    with pytest.raises(ConflictError):
        saved(Transcript.from_json(other.to_json()), data)


def test_nothing_unsaved_nothing_written() -> None:
    t = Transcript([u("a")])
    data = saved(t)
    assert save_lines(t, "a1", log_end(data, "a1"), n=9, now=9) == []


def test_as_of_is_the_state_before_that_record() -> None:
    data = saved(Transcript([u("a")]))
    for text in "bcd":
        t = loaded(data)
        t.push(u(text))
        data = saved(t, data)
    log = read_log(data, "a1")
    assert [len(as_of(log, n)) for n in range(6)] == [0, 0, 1, 2, 3, 4]


def test_the_newest_saved_value_counts_and_null_removes_it() -> None:
    values = [SavedValue("k", 1), SavedValue("l", 2), SavedValue("k", 3), SavedValue("l", None)]
    lines = [write_line(Line(Stamp(seq, seq, 1), value)) for seq, value in enumerate(values, 1)]
    log = read_log(HEADER + b"".join(lines), "a1")
    assert saved_values(log) == {"k": 3}
    assert [record for _, record in history(log)] == values


def test_a_torn_last_line_is_left_out_and_reported() -> None:
    torn = b'{"seq":2,"n":2,"t":'
    log = read_log(HEADER + PUSH + torn, "a1")
    assert log.torn == torn and len(fold(log)) == 1
    assert split_torn(HEADER + torn) == (HEADER, torn)
    assert recovered_name("a1", b"x") == f"recovered/a1-{hashlib.sha256(b'x').hexdigest()}.part"


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"", 1),
        (HEADER.replace(b"rig-session/4", b"rig-session/3"), 1),
        (HEADER.replace(b'"log":"a1"', b'"log":"b2"'), 1),
        (HEADER.replace(b"77", b"-1"), 1),
        (HEADER.replace(b"77", b'"x"'), 1),
        (PUSH, 1),
        (HEADER + HEADER.replace(b'"seq":0,"n":0', b'"seq":1,"n":1'), 2),
        (HEADER + b"nonsense\n" + PUSH, 2),
        (HEADER + b"[]\n", 2),
        (HEADER + PUSH.replace(b'"seq":1', b'"seq":2'), 2),
        (HEADER + PUSH.replace(b'"n":1', b'"n":0'), 2),
        (HEADER + PUSH.replace(b'"t":6', b'"t":"6"'), 2),
        (HEADER + PUSH.replace(b'"type":"push"', b'"type":"pull"'), 2),
        (HEADER + PUSH.replace(b'"id":0', b'"ido":0'), 2),
        (HEADER + b'{"seq":1,"n":1,"t":6,"type":"state"}\n', 2),
        (HEADER + b'{"seq":1,"n":1,"t":6,"type":"splice","from":0,"to":1,"removed":[0],"with":[]}\n', 2),
    ],
)
def test_a_broken_log_is_refused_with_log_and_line(data: bytes, line: int) -> None:
    with pytest.raises(SessionFormatError) as refused:
        read_log(data, "a1")
    assert (refused.value.file, refused.value.position) == ("a1", line)
    assert refused.value.reason


def test_the_end_of_a_log_is_found_without_reading_its_records() -> None:
    wrong = b'{"seq":2,"n":4,"t":6,"type":"splice","from":9}\n'
    assert log_end(HEADER + PUSH + wrong, "a1") == (77, 2, 3, 4)
    for data in (HEADER.replace(b"/4", b"/3"), HEADER + b"nonsense\n", b""):
        with pytest.raises(SessionFormatError):
            log_end(data, "a1")


def turns() -> bytes:
    t = Transcript()
    for text in ("1", "2"):
        t.push(u(f"q{text}"))
        t.open_turn()
        t.extend([call("x"), res("x")])
        t.push(a(f"a{text}"))
        t.end_turn(TurnEnd.answered(t.id(-1)))
    return saved(t)


@pytest.mark.parametrize(("at", "kept"), [(3, 4), (4, 4), (5, 4), (2, 0), (0, 0), (7, 8), (99, 8), (None, 8)])
def test_a_fork_ends_at_the_turn_boundary_not_after_the_message(at: int | None, kept: int) -> None:
    source = read_log(turns(), "a1")
    lines = fork_lines(source, "f1", at=at, n=50, now=9)
    fork = read_log(b"".join(map(write_line, lines)), "f1")
    assert ids(fold(fork)) == list(range(kept))
    assert fork.header.lineage != source.header.lineage
    assert [ref.made for ref in fold(fork)] == [1000] * kept
    ended = [record for _, record in fold(fork).turns() if record.end is not None]
    assert len(ended) == kept // 4


def test_a_fork_takes_the_saved_values_as_they_are_now() -> None:
    source = read_log(turns() + write_line(Line(Stamp(11, 30, 7), SavedValue("k", 1))), "a1")
    fork = fork_lines(source, "f1", at=0, n=50, now=9)
    assert [line.record for line in fork[1:]] == [SavedValue("k", 1)]


def agents(**parents: str | None) -> dict[str, Any]:
    """Logs by name, each with its parent; those whose name begins with r are retired."""
    logs = {}
    for name, parent in parents.items():
        data = write_line(Line(Stamp(0, 0, 1), Header(name, 5, parent)))
        data += write_line(Line(Stamp(1, 1, 1), Retired())) if name.startswith("r") else b""
        logs[name] = read_log(data, name)
    return logs


def test_the_main_agent_is_the_first_that_nobody_spawned_and_is_not_retired() -> None:
    logs = agents(c=None, b=None, a0="b", r=None, o="r", p="o")
    assert restorable(logs) == ["c", "b", "a0"]
    assert main_agent(logs) == "b"
    assert main_agent(agents(r=None, o="r")) is None


def test_images_lie_in_files_named_by_content() -> None:
    value = base64.b64encode(b"png").decode()
    image = {"type": "image", "data": {"type": "base64", "value": value}, "media_type": "png"}
    odd = {"type": "image", "data": {"type": "base64", "value": "not base64"}}
    result = {**res("x")["content"][0], "content": [image]}
    t = Transcript([{"role": "user", "content": [image, odd, result]}])
    change, files = take_out_blobs(t.unsaved()[0].change)
    name = f"{hashlib.sha256(b'png').hexdigest()}.png"
    assert files == {f"blobs/{name}": b"png"}
    assert isinstance(change, PushChange)
    parts = change.entries[0].message["content"]
    assert parts[0]["data"] == {"type": "url", "value": f"blob:{name}"}
    assert parts[2]["content"][0]["data"] == parts[0]["data"] and parts[1] == odd
    assert put_back_blobs(change, files.get) == t.unsaved()[0].change
    assert put_back_blobs(change, lambda name: None) == change
    reset, same = take_out_blobs(type(t.unsaved()[0].change)(()))
    assert same == {} and reset == PushChange(())


def without_secret(value: Any) -> Any:
    return json.loads(json.dumps(value).replace("secret", "***"))


def rewritten(data: bytes) -> bytes:
    lines = rewritten_lines(read_log(data, "a1"), without_secret, by=P, now=77)
    return b"".join(map(write_line, lines))


def test_a_rewrite_takes_the_secret_out_of_the_whole_history() -> None:
    t = Transcript([u("my secret"), a("b")])
    t.add_aside(Aside.note("t", "secret", author=P))
    t.splice(0, [u("no more")])
    data = saved(t) + write_line(Line(Stamp(4, 9, 7), SavedValue("k", ["secret"])))
    new = rewritten(data)
    assert b"secret" not in new
    was, now = read_log(data, "a1"), read_log(new, "a1")
    assert [line.stamp for line in now.lines] == [line.stamp for line in was.lines]
    assert fold(now).messages() == t.messages() and as_of(now, 2).messages()[0] == u("my ***")
    assert now.header.rewrites == ({"by": P.to_json(), "at": 77},)
    again = read_log(rewritten(new), "a1")
    assert len(again.header.rewrites) == 2 and again.header.lineage not in (
        now.header.lineage,
        was.header.lineage,
    )


def test_a_value_loaded_before_a_rewrite_is_appended_no_more() -> None:
    data = saved(Transcript([u("secret")]))
    before = loaded(data)
    before.push(a("b"))
    with pytest.raises(ConflictError):
        saved(before, rewritten(data))


def test_a_reset_is_rewritten_too() -> None:
    data = saved(Transcript.from_json(Transcript([u("secret")]).to_json()))
    assert b"secret" in data and b"secret" not in rewritten(data)


@pytest.mark.shared
def test_a_real_log_with_a_torn_tail_is_read() -> None:
    data = shared("data/exports/rig-session/session-4-torn-tail.jsonl").read_bytes()
    name = "cd9a3280-91f0-4fb4-aa5c-c1c3629a0f32"
    log = read_log(data, name)
    t = fold(log)
    assert len(t) == 2 and len(t.asides()) == 1 and log.torn
    assert (t.lineage(), t.revision()) == (8125097613043262111, 3)
    assert len(saved_values(log)) == 2
    written = write_line(Line(Stamp(0, 0, 1791779409181), log.header)) + b"".join(map(write_line, log.lines))
    assert written == split_torn(data)[0]


def test_the_format_has_one_name() -> None:
    assert FORMAT == "rig-session/4"
