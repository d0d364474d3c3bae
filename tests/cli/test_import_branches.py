"""``import`` of exports with branches and of zip files."""

from __future__ import annotations

import io
import json
import zipfile

from support.branched_exports import chatgpt
from support.command_line import Command


def test_import_counts_branches_and_leaves_them_out_when_told(convostore: Command) -> None:
    (convostore.folder / "c.json").write_text(json.dumps([chatgpt()]))
    some = convostore.fine("import", "c.json", "--user", "alice", "--branches", "active")
    assert some.lines[0] == (
        "read 4 conversations, 3 of them branches, with 4 messages; 1 imported, 3 skipped"
    )
    assert "skipped at [0]: a branch beside the active one" in some.lines[1]

    every = convostore.fine("import", "c.json", "--user", "alice", "--json").json

    assert (every["imported"], every["unchanged"], every["branches"]) == (3, 1, 3)
    wrong = convostore("import", "c.json", "--user", "alice", "--branches", "some")
    assert wrong.code == 2


def test_import_opens_a_zip_file(convostore: Command) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("export/conversations.json", json.dumps([chatgpt()]))
    (convostore.folder / "export.zip").write_bytes(held.getvalue())

    done = convostore.fine("import", "export.zip", "--user", "alice", "--json").json

    assert (done["imported"], done["failed"]) == (4, 0)
    (file,) = done["files"]
    assert (file["file"], file["format"]) == ("export.zip", "chatgpt")
