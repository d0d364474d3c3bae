"""Users of a store that many tests share: setting up a database takes longer than most imports."""

from __future__ import annotations

import json
import re
from typing import Any

from convostore.store import ConversationHead, ConversationStore, ImportReport
from support.branched_exports import text_of

__all__ = ["Account", "assert_adds_up", "same"]


def assert_adds_up(report: ImportReport) -> None:
    """Every conversation that was read is counted once, and all that was not taken says why."""
    parts = report.imported, report.updated, report.unchanged, report.skipped, report.failed
    assert report.read == sum(parts), report
    assert all(problem.reason and problem.position not in ("", None) for problem in report.problems)


def same(tried: ImportReport, done: ImportReport) -> bool:
    """Whether a dry run told what the import did; only the import knows the ids that it gave."""
    told = json.dumps({**tried.to_json(), "dry_run": False})
    return told == re.sub(r"; it is stored as \d+", "", json.dumps(done.to_json()))


class Account:
    """``store`` holds what others have, too; ``user`` is nobody else."""

    def __init__(self, store: ConversationStore, user: str) -> None:
        self.store = store
        self.user = user

    def take(self, source: bytes, **options: Any) -> ImportReport:
        """Import for this user."""
        return self.store.import_conversations(source, user=self.user, **options)

    def imported(self, source: bytes, **options: Any) -> ImportReport:
        """What a dry run says, and then the import, which must say the same and leave the store sound."""
        tried = self.take(source, dry_run=True, **options)
        report = self.take(source, **options)
        assert_adds_up(report)
        assert same(tried, report), (tried, report)
        found = self.store.check(user=self.user)
        assert found, found.findings
        return report

    def heads(self) -> list[ConversationHead]:
        """All conversations of the user, the oldest first."""
        return list(self.store.scan(user=self.user))

    def head(self, source: str | None = None) -> ConversationHead:
        """The only conversation, or the one of that source."""
        (found,) = [one for one in self.heads() if source in (None, one.source and one.source.id)]
        return found

    def sources(self) -> set[str]:
        """The ids of the conversations in their sources."""
        return {head.source.id for head in self.heads() if head.source is not None}

    def texts(self) -> dict[str, list[str]]:
        """The texts of each conversation by its id in the source."""
        return {
            head.source.id: [text_of(entry.message) for entry in self.store.entries(head.id)]
            for head in self.heads()
            if head.source is not None
        }

    def made(self, source: str | None = None) -> list[int | None]:
        """When each message of a conversation was made."""
        return [entry.made for entry in self.store.entries(self.head(source).id)]
