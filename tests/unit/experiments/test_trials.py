"""Trials are done once: kept by their case and by the code, and given in the order of the cases."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from semcast_experiments.figures import trials
from semcast_experiments.figures.dependencies import code_digest, dependencies
from semcast_experiments.figures.trials import Run


class _Case(NamedTuple):
    number: int
    names: tuple[str, ...] = ("a", "b")


class _Network(NamedTuple):
    brokers: int
    folder: str


class _Row(NamedTuple):
    name: str
    square: float


_DONE: list[_Case] = []


def _slow(case: _Case) -> list[_Row]:
    time.sleep(0.02)
    return [_Row("a" * 200, float(case.number))]


def _endless(_case: _Case) -> list[_Row]:
    Path(os.environ["FOLDER"], f"{os.getpid()}.pid").touch()
    time.sleep(600)
    return []


def _noted(case: _Network) -> list[_Row]:
    with Path(case.folder, "begun").open("a") as file:
        file.write(f"{case.brokers}\n")
    time.sleep(0.2)
    return [_Row("", case.brokers)]


def _measure(case: _Case) -> list[_Row]:
    _DONE.append(case)
    return [_Row(name, case.number**2 / 3) for name in case.names]


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    _DONE.clear()


def test_large_networks_begin_first_and_rows_stay_in_order(tmp_path: Path) -> None:
    sizes = [3, 9, 7, 1, 5]
    rows = Run(True, 1, tmp_path, jobs=2).trials("t", _noted, _Row, [_Network(size, str(tmp_path)) for size in sizes])
    begun = [int(line) for line in (tmp_path / "begun").read_text().split()]
    assert (set(begun[:2]), set(begun[2:4]), begun[4]) == ({9, 7}, {5, 3}, 1)
    assert [row.square for row in rows] == sizes


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


def test_a_trial_depends_on_what_its_module_imports_and_on_nothing_else() -> None:
    found = dependencies("semcast_experiments.figures.dissemination.trial")
    assert found["semcast.planning.masked"].name == "masked.py", "imported by what it imports"
    assert "semcast.trees.oracle" in found
    figures = "semcast_experiments.figures"
    assert not [name for name in found if name.startswith(("semcast.net", "semcast.cli", f"{figures}.lines"))]
    assert code_digest(f"{figures}.dissemination.trial") != code_digest(f"{figures}.oracle")
    assert __name__ in dependencies(__name__), "also of a module from elsewhere"


@pytest.mark.parametrize("torn", ['["', '[["half", [1, ["a", "b"]], [["a", 0.3', "\0\0\0", "7\n", "[1, 2, 3]\n"])
def test_a_half_written_line_is_not_believed_and_harms_no_other(tmp_path: Path, torn: str) -> None:
    Run(True, 1, tmp_path).trials("t", _measure, _Row, [_Case(1)])
    with (tmp_path / ".cache" / "t.jsonl").open("a") as file:
        file.write(torn)
    Run(True, 1, tmp_path).trials("t", _measure, _Row, [_Case(1), _Case(2)])
    again = Run(True, 1, tmp_path).trials("t", _measure, _Row, [_Case(1), _Case(2)])
    assert [_Case(1), _Case(2)] == _DONE, "each once: what was whole is kept, before the half line and after it"
    assert [row.square * 3 for row in again[::2]] == [1, 4]


def test_trials_that_measure_time_run_one_after_the_other_in_this_process(tmp_path: Path) -> None:
    Run(True, 1, tmp_path, jobs=2).trials("t", _measure, _Row, [_Case(1), _Case(2)], alone=True)
    assert [_Case(1), _Case(2)] == _DONE


def test_what_trials_took_is_known_though_they_were_done_before(tmp_path: Path) -> None:
    first, again = Run(True, 1, tmp_path), Run(True, 1, tmp_path)
    first.trials("t", _measure, _Row, [_Case(1), _Case(2)])
    again.trials("t", _measure, _Row, [_Case(2), _Case(1)])
    assert len(first.spent) == 2
    assert sorted(again.spent) == sorted(first.spent)


def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    """With kill -9 in the middle of many small trials; every one is written down once."""
    script = """
import sys, pathlib
from semcast_experiments.figures.trials import Run
from tests.unit.experiments import test_trials as t
Run(True, 1, pathlib.Path(sys.argv[1]), jobs=int(sys.argv[2])).trials("t", t._slow, t._Row, map(t._Case, range(60)))
"""
    kept = tmp_path / ".cache" / "t.jsonl"
    begun = subprocess.Popen([sys.executable, "-c", script, str(tmp_path), "2"], start_new_session=True)
    while not kept.exists() or kept.read_bytes().count(b"\n") < 5:
        assert begun.poll() is None
        time.sleep(0.01)
    os.killpg(begun.pid, signal.SIGKILL)
    begun.wait()
    before = kept.read_bytes().count(b"\n")
    assert before < 60
    subprocess.run([sys.executable, "-c", script, str(tmp_path), "1"], check=True)
    numbers = [json.loads(line)[1][0] for line in kept.read_text().splitlines() if line.endswith("]")]
    assert sorted(numbers) == list(range(60)), "none twice"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_who_ends_a_run_leaves_no_process_behind(tmp_path: Path, how: signal.Signals) -> None:
    """The first process alone is told; Ctrl-C in a terminal would tell all of them."""
    script = """
import sys, pathlib
from semcast_experiments.figures.trials import Run
from tests.unit.experiments import test_trials as t
Run(True, 1, pathlib.Path(sys.argv[1]), jobs=2).trials("t", t._endless, t._Row, map(t._Case, range(9)))
"""
    told = os.environ | {"FOLDER": str(tmp_path)}
    begun = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stderr=subprocess.DEVNULL, env=told)
    try:
        assert _soon(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
        workers = [int(file.stem) for file in tmp_path.glob("*.pid")]
        begun.send_signal(how)
        assert begun.wait(20) != 0
        assert _soon(lambda: not any(map(_alive, workers)))
        assert len(list(tmp_path.glob("*.pid"))) == 2, "no other trial was begun"
    finally:
        begun.kill()
        begun.wait()


def _soon(true: Callable[[], bool]) -> bool:
    for _ in range(400):
        if true():
            return True
        time.sleep(0.05)
    return False


def _alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_processes_give_the_same_as_none(tmp_path: Path) -> None:
    cases = [_Case(number) for number in range(4)]
    alone = Run(True, 1, tmp_path / "a").trials("t", _measure, _Row, cases)
    shared = Run(True, 1, tmp_path / "b", jobs=2).trials("t", _measure, _Row, cases)
    assert alone == shared


def test_seeds_begin_where_the_run_says() -> None:
    assert list(Run(True, 3, Path()).seeds(5, 2)) == [3, 4]
    assert len(Run(False, 1, Path()).seeds(5, 2)) == 5
