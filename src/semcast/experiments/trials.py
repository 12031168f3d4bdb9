"""Trials of an experiment: each a pure function of its case, done once, in as many processes as there are to use.

What a trial found is kept beside the figures, by its case and by a digest of all code that it may depend on: a figure
that is drawn again, and another one that needs the same trials, measures nothing anew; a change of the code forgets.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import semcast

_CORE = ("model", "profiles", "matching", "trees", "channels", "planning", "experiments/dissemination")
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

    def seeds(self, full: int, quick: int) -> range:
        """So many seeds, from this run's own on."""
        return range(self.seed, self.seed + (quick if self.quick else full))

    def trials(
        self, name: str, measure: Callable[[CaseT], list[RowT]], row: type[RowT], cases: Iterable[CaseT]
    ) -> list[RowT]:
        """The rows of all cases, in their order; ``measure`` must be a module's function and ``row`` what it gives."""
        wanted = list(dict.fromkeys(cases))
        kept = _Kept(self.out / ".cache" / f"{name}.jsonl", row, code_digest(measure.__module__))
        left = [case for case in wanted if case not in kept]
        done = len(wanted) - len(left)
        for case, rows in _measured(measure, left, self.jobs):
            kept.add(case, rows)
            done += 1
            self.report(done, len(wanted))
        return [found for case in wanted for found in kept[case]]


def _measured(
    measure: Callable[[CaseT], list[RowT]], cases: Sequence[CaseT], jobs: int
) -> Iterable[tuple[CaseT, list[RowT]]]:
    if jobs < 2 or len(cases) < 2:
        yield from ((case, measure(case)) for case in cases)
        return
    with ProcessPoolExecutor(jobs) as workers:
        under_way = {workers.submit(measure, case): case for case in cases}
        for finished in as_completed(under_way):
            yield under_way[finished], finished.result()


class _Kept:
    """A file of lines, one per case: the digest of the code, the case, its rows."""

    def __init__(self, path: Path, row: type[NamedTuple], code: str) -> None:
        self._path = path
        self._code = code
        self._row: Any = row
        self._known: dict[str, Any] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                code, case, rows = json.loads(line)
                if code == self._code:
                    self._known[json.dumps(case)] = rows

    def __contains__(self, case: NamedTuple) -> bool:
        return _key(case) in self._known

    def __getitem__(self, case: NamedTuple) -> list[Any]:
        return [self._row(*values) for values in self._known[_key(case)]]

    def add(self, case: NamedTuple, rows: Sequence[NamedTuple]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps([self._code, json.loads(_key(case)), [list(found) for found in rows]])
        with self._path.open("a") as file:
            file.write(line + "\n")
        self._known[_key(case)] = json.loads(line)[2]  # as it will be read again: floats alike, tuples as lists


def _key(case: NamedTuple) -> str:
    return json.dumps(list(case))


@cache
def code_digest(module: str) -> str:
    """Of everything that a trial may compute with: the core, the model, and the module that measures."""
    root = Path(semcast.__file__).parent
    digest = hashlib.sha256()
    own = sys.modules[module].__file__
    if own is not None:
        digest.update(Path(own).read_bytes())
    for package in _CORE:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
