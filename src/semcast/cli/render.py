"""Everything that a person sees on the terminal.

stdout is data, stderr is progress. Bars and colour appear on a terminal only; elsewhere progress is a
plain line now and then, so that a log stays readable.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

stdout = Console(highlight=False)
stderr = Console(stderr=True, highlight=False)

FIRST_TIME = "the first time code is compiled, which takes a minute or two"
_LOG_SECONDS = 5.0
_LONGEST = 240
"""Columns of a line off a terminal."""


def say(text: str) -> None:
    """A line of progress, or the closing line of a command."""
    stderr.print(text, markup=False, soft_wrap=True)


def fail(text: str) -> None:
    """Say what went wrong; the caller ends with the exit code."""
    if stderr.is_terminal:
        stderr.print("[bold red]error:[/] ", end="")
        stderr.print(text, markup=False, soft_wrap=True)
    else:
        sys.stderr.write(f"error: {text}\n")


def data(value: Any) -> None:
    """JSON on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None) + "\n")


def table(title: str, columns: Sequence[str] | None, rows: Sequence[Sequence[str]], console: Console = stderr) -> None:
    """A table; every column but the first is right-aligned.

    What is too wide for a terminal loses its lines before its text is wrapped. Off a terminal nothing is wrapped that
    fits into a long line, so that a row is one.
    """
    shown = _table(title, columns, rows, box.HEAVY_HEAD)
    wide = Measurement.get(console, console.options.update(width=_LONGEST, max_width=_LONGEST), shown).maximum
    if not console.is_terminal:
        console = Console(file=console.file, width=max(wide, console.width), highlight=False)
    elif wide > console.width:
        shown = _table(title, columns, rows, box.SIMPLE_HEAD)
    console.print(shown)


def _table(title: str, columns: Sequence[str] | None, rows: Sequence[Sequence[str]], lines: box.Box) -> Table:
    dense = lines is box.SIMPLE_HEAD
    shown = Table(title=title, title_justify="left", title_style="bold", show_header=columns is not None, box=lines)
    shown.pad_edge, shown.collapse_padding = not dense, dense
    for at, column in enumerate(columns or [""] * len(rows[0])):
        shown.add_column(column, justify="right" if at else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(escape(cell) for cell in row))
    return shown


class Step:
    """A running step: tell it how far it is."""

    def __init__(self, text: str, bar: Progress | None) -> None:
        self._text = text
        self._bar = bar
        self._task = bar.add_task(text, total=None) if bar else None
        self._last = time.monotonic()

    def report(self, done: int, total: int) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total)
        elif time.monotonic() - self._last > _LOG_SECONDS:
            self._last = time.monotonic()
            say(f"{self._text}: {done} of {total} tasks")

    def note(self, text: str) -> None:
        """Say what the step is at, where it cannot say how far."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=f"{self._text}: {text}")
        elif time.monotonic() - self._last > _LOG_SECONDS:
            self._last = time.monotonic()
            say(f"{self._text}: {text}")


@contextmanager
def step(text: str) -> Iterator[Step]:
    """Show that ``text`` is going on; on a terminal with a bar that vanishes when it is done."""
    if not stderr.is_terminal:
        say(f"{text} …")
        yield Step(text, None)
        return
    columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=stderr, transient=True) as bar:
        yield Step(text, bar)


def peak_memory_mb() -> int:
    """The most memory that this process held so far."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10))  # macOS counts bytes, Linux kilobytes


def count(number: float) -> str:
    return f"{number:,.0f}"
