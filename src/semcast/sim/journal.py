"""A run as JSON Lines: a header that says what was run, then one event a line, the same bytes for the same run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from semcast.model import SemcastError

VERSION = 1


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What is needed to run it again."""

    journal: int
    """The version of the format."""
    seed: int
    scenario: dict[str, Any]


class Difference(msgspec.Struct, frozen=True):
    """The first line in which two runs differ; None where one of them had ended."""

    line: int
    """1-based, as in an editor."""
    was: str | None
    now: str | None


class Journal:
    """Writes lines to ``sink``, each with its line break."""

    def __init__(self, sink: Callable[[bytes], object], seed: int, scenario: Mapping[str, Any]) -> None:
        self._sink = sink
        self._encode = msgspec.json.Encoder(order="sorted", enc_hook=_plain).encode
        sink(self._encode(Header(journal=VERSION, seed=seed, scenario=dict(scenario))) + b"\n")

    def write(self, at: float, party: str, kind: str, details: Mapping[str, object]) -> None:
        """One event; ``at`` is true time in seconds, kept to the microsecond."""
        line = {"at": round(at, 6), "party": party, "kind": kind, **details}
        self._sink(self._encode(line) + b"\n")


class Comparison:
    """A sink that compares a run with a journal, and remembers the first line that differs."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._journal = lines
        self.lines = 0
        """How many the run has written so far."""
        self.difference: Difference | None = None

    def __call__(self, line: bytes) -> None:
        self.lines += 1
        if self.difference is None:
            was = next(self._journal, None)
            if was != line:
                self.difference = Difference(self.lines, _text(was), _text(line))

    def end(self) -> Difference | None:
        """The run is over: a journal that goes on differs too."""
        if self.difference is None:
            rest = next(self._journal, None)
            if rest is not None:
                self.difference = Difference(self.lines + 1, _text(rest), None)
        return self.difference


def read_header(path: Path) -> Header:
    """The first line of a journal."""
    try:
        with path.open("rb") as file:
            header = msgspec.json.decode(file.readline(), type=Header)
    except OSError as error:
        raise SemcastError(f"{path}: cannot be read ({error.strerror})") from None
    except msgspec.DecodeError:
        raise SemcastError(f"{path}: no journal of a simulation; semcast simulate --out writes one") from None
    if header.journal != VERSION:
        raise SemcastError(f"{path}: a journal of version {header.journal}, and this is version {VERSION}")
    return header


def _text(line: bytes | None) -> str | None:
    return None if line is None else line.decode(errors="replace").rstrip("\n")


def _plain(value: object) -> object:
    """What JSON has no form for; sets are sorted, since their order is nobody's."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)
