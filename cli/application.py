"""The application: running a command, and saying in one line what went wrong, with the exit code that fits.

Exit codes: 0 all that was asked for was done, 1 it was not, 2 wrong use, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer

__all__ = ["Application", "Interrupted", "resumable"]

_UsageError = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError")
_ClickException: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
_JSON_OPTIONS = frozenset(("--json", "--json-lines"))


class Interrupted(Exception):
    """Ctrl-C, with what to do to go on."""


@contextmanager
def resumable(how: str) -> Iterator[None]:
    """Turn Ctrl-C in the block into an end that says how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(how) from None


class Application(typer.Typer):
    """The command line as a whole; calling it runs a command and ends the process."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the command of the process's arguments."""
        arguments: Sequence[str] = kwargs.get("args") or sys.argv[1:]
        as_json = any(word in _JSON_OPTIONS for word in _before_dashes(arguments))
        _fill_in_streams()
        _speak_utf8()
        code = self._run(as_json, *args, **kwargs)
        try:
            sys.stdout.flush()
        except OSError:
            # What cannot be written was reported or nobody reads it; Python's own end must not fail over it.
            _forget_stdout()
            code = code or 1
        sys.exit(code)

    def _run(self, as_json: bool, *args: Any, **kwargs: Any) -> int:
        try:
            result = super().__call__(*args, standalone_mode=False, **kwargs)
            sys.stdout.flush()
        except BrokenPipeError:
            return 1
        except SystemExit as ended:
            return ended.code if isinstance(ended.code, int) else 1
        except BaseException as error:
            return _report(error, as_json)
        return result if isinstance(result, int) else 0


def _before_dashes(arguments: Sequence[str]) -> Sequence[str]:
    words = list(arguments)
    return words[: words.index("--")] if "--" in words else words


def _fill_in_streams() -> None:
    """A program started with its output closed has none: what it prints then goes nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (for the whole run)


def _speak_utf8() -> None:
    """Write UTF-8 whatever the locale says, and never fail at half a character."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def _forget_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: BaseException, as_json: bool) -> int:
    code, kind, message = _outcome(error)
    if not message:
        return code
    if "CONVOSTORE_TRACEBACK" in os.environ:
        traceback.print_exception(error)
    if as_json:
        # Imported here only: most commands end well.
        from convostore.cli.output import error_json

        print(error_json(error, kind, message), file=sys.stderr)
    else:
        print(f"convostore: {message}", file=sys.stderr)
    return code


def _outcome(error: BaseException) -> tuple[int, str, str]:
    """The exit code, a name for the kind of failure, and the one line."""
    from convostore.schemas.errors import ConvostoreError, QueryError

    kind = type(error).__name__
    if isinstance(error, Interrupted):
        return 130, "Interrupted", f"interrupted; {error}"
    if isinstance(error, typer.Abort):
        if isinstance(error.__cause__, KeyboardInterrupt):
            return 130, "Interrupted", "interrupted; run the command again to go on"
        return 1, "Aborted", "nothing was done"
    if kind == "NoArgsIsHelpError":
        return 2, "Usage", ""
    if isinstance(error, _ClickException):
        usage = isinstance(error, _UsageError)
        return (2 if usage else 1), "Usage" if usage else kind, _line(error.format_message()) + _help(error)
    if isinstance(error, ConvostoreError):
        return 2 if isinstance(error, QueryError) else 1, kind, _line(str(error))
    if isinstance(error, OSError):
        name = f": {error.filename}" if error.filename else ""
        return 1, kind, _line(f"{error.strerror or error}{name}")
    reason = _line(str(error)) or kind
    return 1, kind, f"internal error, {kind}: {reason} (CONVOSTORE_TRACEBACK=1 shows where)"


def _line(text: str) -> str:
    return " ".join(text.split())


def _help(error: Any) -> str:
    context = getattr(error, "ctx", None)
    return f" (see {context.command_path} --help)" if context is not None else ""
