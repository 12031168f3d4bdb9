"""Trials are done once: kept by their case and by the code, and given in the order of the cases."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from semcast.experiments import trials
from semcast.experiments.trials import Run, code_digest


class _Case(NamedTuple):
    number: int
    names: tuple[str, ...] = ("a", "b")


class _Row(NamedTuple):
    name: str
    square: float


_DONE: list[_Case] = []


def _measure(case: _Case) -> list[_Row]:
    _DONE.append(case)
    return [_Row(name, case.number**2 / 3) for name in case.names]


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    _DONE.clear()


def test_what_was_done_is_not_done_again(tmp_path: Path) -> None:
    reports: list[tuple[int, int]] = []
    run = Run(True, 1, tmp_path, report=lambda done, total: reports.append((done, total)))
    first = run.trials("t", _measure, _Row, [_Case(2), _Case(1)])
    assert reports == [(1, 2), (2, 2)]
    again = Run(False, 5, tmp_path).trials("t", _measure, _Row, [_Case(1), _Case(3), _Case(2), _Case(1)])
    assert [row.square for row in first] == [4 / 3, 4 / 3, 1 / 3, 1 / 3]
    assert [row.square * 3 for row in again[::2]] == [1, 9, 4], "in the order of the cases, each once"
    assert [_Case(2), _Case(1), _Case(3)] == _DONE
    assert all(type(row) is _Row for row in again)


def test_a_change_of_the_code_forgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(True, 1, tmp_path)
    run.trials("t", _measure, _Row, [_Case(1)])
    monkeypatch.setattr(trials, "code_digest", lambda _module: "another")
    run.trials("t", _measure, _Row, [_Case(1)])
    assert [_Case(1), _Case(1)] == _DONE
    assert code_digest("semcast.experiments.trials") != code_digest(__name__), "the module that measures counts"


def test_processes_give_the_same_as_none(tmp_path: Path) -> None:
    cases = [_Case(number) for number in range(4)]
    alone = Run(True, 1, tmp_path / "a").trials("t", _measure, _Row, cases)
    shared = Run(True, 1, tmp_path / "b", jobs=2).trials("t", _measure, _Row, cases)
    assert alone == shared


def test_seeds_begin_where_the_run_says() -> None:
    assert list(Run(True, 3, Path()).seeds(5, 2)) == [3, 4]
    assert len(Run(False, 1, Path()).seeds(5, 2)) == 5
