"""The folder of an embedded engine: its files, its secret and its settings. No process is started here."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from convostore.schemas.errors import UnavailableError
from convostore.store.engine.locks import is_locked

__all__ = ["EngineFolder", "Settings"]

# How the names of the engine's files begin, and of what a fresh folder may hold by itself.
_OWN = (
    "data",
    "engine.json",
    "secret",
    "users.lock",
    "start.lock",
    "keeper.lock",
    "mongod.",
    ".",
    "lost+found",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What is kept between two starts; ``server`` is the release that wrote the data last."""

    port: int
    server: tuple[int, ...] = ()
    format: int = 1


@dataclass(frozen=True, slots=True)
class EngineFolder:
    """The files of the engine below ``root``, which is absolute."""

    root: Path

    @property
    def data(self) -> Path:
        """What mongod calls its ``dbpath``."""
        return self.root / "data"

    @property
    def users(self) -> Path:
        """Locked, shared, by each user of the server; exclusively by who stops it."""
        return self.root / "users.lock"

    @property
    def gate(self) -> Path:
        """Locked, exclusively, by who joins or starts the server."""
        return self.root / "start.lock"

    @property
    def secret(self) -> Path:
        """mongod's key file, which is the password too; readable by its owner alone."""
        return self.root / "secret"

    @property
    def log(self) -> Path:
        """mongod's log since its last start; the one before it is ``mongod.log.1``."""
        return self.root / "mongod.log"

    @property
    def output(self) -> Path:
        """What keeper and mongod print: why they did not start."""
        return self.root / "mongod.out"

    @property
    def life(self) -> Path:
        """Locked, exclusively, by the keeper, from before mongod starts until after it has ended."""
        return self.root / "keeper.lock"

    def is_served(self) -> bool:
        """Whether a mongod, anybody's, runs on the data. Ask only while nobody can start one."""
        return is_locked(self.data / "mongod.lock")

    def is_kept(self) -> bool:
        """Whether a keeper runs, for a mongod that runs or is about to."""
        return is_locked(self.life)

    def create(self) -> None:
        """Make the folder itself, if it does not exist.

        Raises:
            UnavailableError: it is a file, or holds other things.
            OSError: it cannot be made or read.
        """
        if self.root.exists() and not self.root.is_dir():
            raise UnavailableError(f"{self.root} is a file: name a folder, as embedded:PATH")
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        foreign = sorted(name for name in os.listdir(self.root) if not name.startswith(_OWN))
        if foreign and not self._settings_file.exists():
            advice = "name an empty or a new folder, as embedded:PATH"
            raise UnavailableError(f"{self.root} holds other things ({foreign[0]}): {advice}")

    def fill(self) -> None:
        """Make what is missing in it; ask only while holding the gate."""
        self.data.mkdir(mode=0o700, exist_ok=True)
        if not self.secret.exists():
            _write_whole(self.secret, secrets.token_hex(32))

    def read_secret(self) -> str:
        """The password."""
        return self.secret.read_text("ascii")

    def read_settings(self) -> Settings | None:
        """The settings; None before the first start, or when the file says nothing that is understood."""
        try:
            stored = json.loads(self._settings_file.read_text("utf-8"))
            return Settings(**{**stored, "server": tuple(stored["server"])})
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError):
            # The data does not need it: another port is found, and mongod knows its versions itself.
            return None

    def write_settings(self, settings: Settings) -> None:
        """Keep the settings."""
        _write_whole(self._settings_file, json.dumps(asdict(settings)))

    def begin_log(self) -> None:
        """Put the last start's log aside."""
        if self.log.exists():
            os.replace(self.log, self.root / "mongod.log.1")

    @property
    def _settings_file(self) -> Path:
        return self.root / "engine.json"


def _write_whole(path: Path, text: str) -> None:
    """Put ``text`` at ``path``, for the owner's eyes, so that a crash leaves the old file or the new one."""
    part = path.with_name(f"{path.name}.part-{os.getpid()}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)
