"""Import or export a file in a process of its own and print what it took.

Called with ``URI import FILE`` or ``URI export FILE FORMAT``; formats of many files all write into that one.
"""

from __future__ import annotations

import json
import resource
import sys
from contextlib import nullcontext
from pathlib import Path

from convostore.schemas.formats.writers import FILE_EACH
from convostore.store import ConversationStore

KIB = 1024


def peak(process: int | str = "self") -> int:
    """The highest resident memory of a process so far, in bytes; 0 of another one that has ended."""
    status = Path(f"/proc/{process}/status")
    if status.exists():
        # What getrusage says is at least what the process that started this one had.
        lines = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(lines[0].split()[1]) * KIB if lines else 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB if process == "self" else 0


def main(uri: str, step: str, file: Path, format: str) -> None:
    with ConversationStore.connect(uri) as store:
        store.setup()
        before = peak()
        if step == "import":
            with file.open("rb") as source:
                imported = store.import_conversations(source, user="bench")
            assert imported.failed == 0 and imported.error is None, imported.to_json()
            count = imported.messages
        else:
            with file.open("wb") as target:
                if format in FILE_EACH:
                    report = store.export_files(
                        lambda name: nullcontext(target.write), user="bench", format=format
                    )
                else:
                    report = store.export_conversations(target.write, user="bench", format=format)
                count = report.messages
    print(json.dumps({"before": before, "peak": peak(), "messages": count}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), (sys.argv[4:] or ["convostore"])[0])
