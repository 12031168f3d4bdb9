"""What Spark says went wrong, in one line that helps.

py4j's errors open with "An error occurred while calling o85.text." and tell the cause dozens of lines below, between
Java's stack frames; errors of Python workers end with theirs. Commands show what ``cause`` finds in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from semcast.model import SemcastError

SPARK_ERRORS = (PySparkException, Py4JError)
"""All that a call to Spark raises by itself."""

_LONGEST = 500
_DAMAGE = re.compile(
    r"is not a Parquet file|Could not read footer|EOFException|Unexpected end of|CRC|not in GZIP format"
    r"|Truncated compressed stream|decompress failed|zlib inflate failed"
)
_JAVA = re.compile(r"^(?:Caused by: |: )?(?P<name>(?:[a-z_]\w*\.)+[A-Z][\w$]*)(?:: (?P<message>.*))?$")
_PYTHON = re.compile(r"^(?P<name>(?:\w+\.)*[A-Z]\w*)(?:: (?P<message>.*))?$")
_TRACEBACK = "Traceback (most recent call last):"
_HINTS = (
    (re.compile(r'Cannot run program "(?P<what>[^"]+)"'), "is {what} installed, and on PATH?"),
    (re.compile(r"No space left on device"), "make room, or have SPARK_LOCAL_DIRS and --out name folders with room"),
    (re.compile(r"OutOfMemoryError|Java heap space"), "give Spark more memory (spark.driver.memory)"),
    (re.compile(r"Failed to (connect|bind)|Connection refused"), "is the master's address right, and does it answer?"),
)


def cause(error: BaseException) -> str:
    """Why a call to Spark failed, and what to try where that is known; one line."""
    text = str(error)
    if isinstance(error, Py4JNetworkError):
        return "Java has ended, or does not answer; what it says itself stands above"
    if _DAMAGE.search(text):
        return "cannot be read; the file is damaged or only half written"
    lines = text.splitlines()
    told = _python_cause(lines) or _java_cause(lines) or _first(lines) or type(error).__name__
    hint = next((hint.format(**found.groupdict()) for form, hint in _HINTS if (found := form.search(told))), None)
    return _shortened(told) + (f"; {hint}" if hint else "")


@contextmanager
def failing_at(where: str) -> Iterator[None]:
    """Turn what Spark raises in this block into a SemcastError that begins with ``where``."""
    try:
        yield
    except SPARK_ERRORS as error:
        raise SemcastError(f"{where}: {cause(error)}") from error


def _python_cause(lines: list[str]) -> str | None:
    """The last error of the last traceback of a worker; our own errors need no class name."""
    places = [place for place, line in enumerate(lines) if line.rstrip().endswith(_TRACEBACK)]
    for line in lines[places[-1] + 1 :] if places else []:
        found = _PYTHON.match(line.strip()) if not line.startswith("    ") else None
        if found is not None:
            name = "" if found["name"].startswith("semcast.") else _simple(found["name"])
            return ": ".join(filter(None, (name, found["message"])))
    return None


def _java_cause(lines: list[str]) -> str | None:
    """The deepest cause that says more than the one above it: "error=2" alone does not name the program."""
    chosen: tuple[str, str] | None = None
    for line in lines:
        found = _JAVA.match(line)
        if found is None:
            continue
        name, message = _simple(found["name"]), (found["message"] or "").strip()
        if chosen is None or (message and message not in chosen[1]):
            chosen = name, message
    return None if chosen is None else ": ".join(filter(None, chosen))


def _first(lines: list[str]) -> str | None:
    return next((line.strip() for line in lines if line.strip() and not line.strip().startswith("at ")), None)


def _simple(name: str) -> str:
    return re.split(r"[.$]", name)[-1]


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
