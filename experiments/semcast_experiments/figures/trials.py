"""Trials of an experiment: each a pure function of its case, done once, in as many processes as there are to use.

What a trial found is kept beside the figures, by its case and by a digest of all code that it may depend on: a figure
that is drawn again, and another one that needs the same trials, measures nothing anew; a change of the code forgets. A
run that was ended in the middle, however it was ended, goes on where it was.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import active_children
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from semcast.cli.workers import end_with
from semcast_experiments.figures.dependencies import code_digest

CaseT = TypeVar("CaseT", bound=NamedTuple)
RowT = TypeVar("RowT", bound=NamedTuple)
Report = Callable[[int, int], None]


@dataclass(frozen=True)
class Run:
    """How figures are to be made: how large, from which seed, where to, in how many processes; who hears of it."""

    quick: bool
    seed: int
    out: Path
    jobs: int = 1
    note: Callable[[str], None] = lambda _: None
    report: Report = lambda _done, _total: None
    spent: list[float] = field(default_factory=list)
    """CPU seconds of the trials that were asked for, whether they were done now or had been kept."""

    def seeds(self, full: int, quick: int) -> range:
        """So many seeds, from this run's own on."""
        return range(self.seed, self.seed + (quick if self.quick else full))

    def trials(
        self,
        name: str,
        measure: Callable[[CaseT], list[RowT]],
        row: type[RowT],
        cases: Iterable[CaseT],
        *,
        alone: bool = False,
    ) -> list[RowT]:
        """The rows of all cases, in their order; ``measure`` must be a module's function and ``row`` what it gives.

        ``alone``: one after the other in this process, for trials that measure time.
        """
        wanted = list(dict.fromkeys(cases))
        kept = _Kept(self.out / ".cache" / f"{name}.jsonl", row, code_digest(measure.__module__))
        left = [case for case in wanted if case not in kept]
        done = len(wanted) - len(left)
        for case, (rows, seconds) in _measured(measure, left, 1 if alone else self.jobs):
            kept.add(case, rows, seconds)
            done += 1
            self.report(done, len(wanted))
        self.spent.extend(kept.seconds(case) for case in wanted)
        return [found for case in wanted for found in kept[case]]


def _measured(
    measure: Callable[[CaseT], list[RowT]], cases: Sequence[CaseT], jobs: int
) -> Iterable[tuple[CaseT, tuple[list[RowT], float]]]:
    if jobs < 2 or len(cases) < 2:
        yield from ((case, _timed(measure, case)) for case in cases)
        return
    before = set(active_children())
    workers = ProcessPoolExecutor(jobs, initializer=end_with, initargs=(os.getpid(),))
    done = False
    try:
        under_way = {workers.submit(_timed, measure, case): case for case in _longest_first(cases)}
        for finished in as_completed(under_way):
            yield under_way[finished], finished.result()
        done = True
    finally:
        if not done:  # whoever ends the run does not wait for what is under way, nor for all that was left to do
            for worker in set(active_children()) - before:
                worker.terminate()
        workers.shutdown(cancel_futures=True)


def _longest_first(cases: Sequence[CaseT]) -> list[CaseT]:
    """The largest networks first, else the last first, since cases mostly grow.

    A long trial in the end leaves the other processes nothing to do: 75 s of 640 where 5,000 brokers came last.
    """
    found = list(reversed(cases))
    found.sort(key=lambda case: -int(getattr(case, "brokers", 0)))  # stable
    return found


def _timed(measure: Callable[[CaseT], list[RowT]], case: CaseT) -> tuple[list[RowT], float]:
    begin = time.process_time()
    rows = measure(case)
    return rows, time.process_time() - begin


class _Kept:
    """A file of lines, one per case: the digest of the code, the case, its rows, the CPU seconds it took.

    A line counts only if it is whole: who was ended while writing leaves a part of one, which is no JSON.
    """

    def __init__(self, path: Path, row: type[NamedTuple], code: str) -> None:
        self._path = path
        self._code = code
        self._row: Any = row
        self._known: dict[str, tuple[Any, float]] = {}
        text = path.read_text(errors="replace") if path.exists() else ""
        self._torn = bool(text) and not text.endswith("\n")
        for line in text.splitlines():
            self._read(line)

    def _read(self, line: str) -> None:
        try:
            code, case, rows, seconds = json.loads(line)
        except (ValueError, TypeError):
            return
        if code == self._code:
            self._known[json.dumps(case)] = rows, seconds

    def __contains__(self, case: NamedTuple) -> bool:
        return _key(case) in self._known

    def __getitem__(self, case: NamedTuple) -> list[Any]:
        return [self._row(*values) for values in self._known[_key(case)][0]]

    def seconds(self, case: NamedTuple) -> float:
        return self._known[_key(case)][1]

    def add(self, case: NamedTuple, rows: Sequence[NamedTuple], seconds: float) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps([self._code, json.loads(_key(case)), [list(found) for found in rows], round(seconds, 3)])
        with self._path.open("a") as file:
            file.write("\n" * self._torn + line + "\n")
        self._torn = False
        self._read(line)  # as it will be read again: floats alike, tuples as lists


def _key(case: NamedTuple) -> str:
    return json.dumps(list(case))
