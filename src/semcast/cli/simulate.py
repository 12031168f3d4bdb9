"""`semcast simulate`: the protocol on a virtual clock, with faults, judged by its laws."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semcast.cli import render
from semcast.cli.options import Json
from semcast.cli.workers import end_with
from semcast.model import SemcastError

if TYPE_CHECKING:
    from semcast.sim.random_runs import Outcome
    from semcast.sim.scenario import Scenario

_AHEAD = 4  # runs given to each worker before their results are asked for
_GARBAGE = 50_000  # new objects before a worker looks for cycles: about a run


def simulate(
    scenario: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SCENARIO.toml]",
            help="What to run. Default: a small one, drawn from the seed.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same scenario and seed, same run, byte for byte.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Write what happens, as JSON Lines.", show_default=False)] = None,
    runs: Annotated[
        int, typer.Option(min=1, help="Run so many seeds, from --seed on, on all cores; only the laws are told.")
    ] = 1,
    replay: Annotated[
        Path | None,
        typer.Option(help="Run again what --out wrote, and say where it differs, if it does.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Run the protocol's machines on a virtual clock and hold them to their laws.

    Brokers, coordinators and clients are those of a real deployment; only clock, network and disks are simulated, and
    fail as the scenario says. The first law: every live subscription gets every matching message, once. A violated
    law is listed and ends with exit code 1. examples/simulate.toml is a scenario with comments.
    """
    if replay is not None:
        if scenario is not None or out is not None or runs > 1:
            raise SemcastError("--replay goes alone: scenario and seed are in the journal")
        _replayed(replay, json)
    elif runs > 1:
        if out is not None:
            raise SemcastError("--out goes with a single run: take the seed that you want to look at")
        _many(scenario, seed, runs, json)
    else:
        _one(scenario, seed, out, json)


def _one(path: Path | None, seed: int, out: Path | None, json: bool) -> None:
    from semcast.cli.render_simulate import show, show_violations
    from semcast.sim.random_runs import random_scenario
    from semcast.sim.semnet import simulation_of

    scenario = _read(path) if path is not None else random_scenario(seed)
    with _Output(out) as sink, render.step(f"simulating {scenario.name or path}") as step:
        run = simulation_of(scenario, seed, sink=sink)
        report = run.run(lambda done, total: step.note(f"{done:.0f} of {total:.0f} simulated seconds"))
    if json:
        render.data(report.as_dict())
    else:
        show(report)
        show_violations(report.violations)
    written = f", written to {out}" if out is not None else ""
    held = f"{len(report.violations):,} VIOLATIONS" if report.violations else "all laws held"
    render.say(
        f"{held}: {report.counts['delivered']:,} deliveries in {report.simulated_s:g} simulated seconds{written}"
    )
    if report.violations:
        raise typer.Exit(1)


def _replayed(path: Path, json: bool) -> None:
    from semcast.sim.journal import Comparison, read_header
    from semcast.sim.scenario_file import scenario_of
    from semcast.sim.semnet import simulation_of

    header = read_header(path)
    scenario = scenario_of(header.scenario)
    with path.open("rb") as lines, render.step(f"replaying {path}") as step:
        comparison = Comparison(lines)
        run = simulation_of(scenario, header.seed, sink=comparison)
        run.run(lambda done, total: step.note(f"{done:.0f} of {total:.0f} simulated seconds"))
        difference = comparison.end()
    if json:
        found = None if difference is None else {"line": difference.line, "was": difference.was, "now": difference.now}
        render.data({"seed": header.seed, "difference": found})
    if difference is None:
        render.say(f"the same run: {comparison.lines:,} lines, byte for byte")
        return
    render.say(
        f"line {difference.line} differs\n  was {difference.was or 'the end'}\n  now {difference.now or 'the end'}"
    )
    raise typer.Exit(1)


def _many(path: Path | None, seed: int, runs: int, json: bool) -> None:
    from semcast.cli.render_simulate import show_outcomes

    scenario = _read(path) if path is not None else None
    found: list[Outcome] = []
    with render.step(f"simulating {runs:,} runs") as step:
        for outcome in _outcomes(scenario, range(seed, seed + runs)):
            found.append(outcome)
            step.report(len(found), runs)
    found.sort(key=lambda outcome: outcome.seed)
    broken = [outcome for outcome in found if outcome.violations]
    if json:
        render.data({"runs": len(found), "broken": [_as_dict(outcome) for outcome in broken]})
    else:
        show_outcomes(found)
    again = f"semcast simulate {path} " if path is not None else "semcast simulate "
    hint = f"; look at one with: {again}--seed {broken[0].seed} --out run.jsonl" if broken else ""
    render.say(f"{len(found) - len(broken):,} of {len(found):,} runs kept all laws{hint}")
    if broken:
        raise typer.Exit(1)


def _outcomes(scenario: Scenario | None, seeds: range) -> Iterator[Outcome]:
    """Every seed's outcome, as they come; the pool ends with the loop, also by Ctrl-C."""
    from semcast.sim.random_runs import outcome

    workers = min(os.cpu_count() or 1, len(seeds))
    pool = ProcessPoolExecutor(workers, initializer=_begin_work, initargs=(os.getpid(),))
    left = iter(seeds)
    pending: set[Future[Outcome]] = set()
    try:
        for seed in left:
            pending.add(pool.submit(outcome, seed, scenario))
            if len(pending) >= workers * _AHEAD:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        yield from (future.result() for future in pending)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin_work(parent: int) -> None:
    """Ctrl-C is for the parent, and its end is the end here too.

    What is loaded stays: looking for garbage in it would take a tenth of the time.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with(parent)
    gc.freeze()
    gc.set_threshold(_GARBAGE)


def _read(path: Path) -> Scenario:
    from semcast.sim.scenario_file import read_scenario

    return read_scenario(path)


def _as_dict(outcome: Outcome) -> dict[str, Any]:
    laws = [{"law": found.law, "who": found.who, "what": found.what} for found in outcome.violations]
    return {"seed": outcome.seed, "scheme": outcome.scheme, "violations": laws}


class _Output:
    """The journal's file, if there is one; what was written stays when a run is interrupted."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: Any = None

    def __enter__(self) -> Any:
        if self._path is None:
            return None
        try:
            self._file = self._path.open("wb", buffering=1 << 20)
        except OSError as error:
            raise SemcastError(f"{self._path}: cannot be written ({error.strerror})") from None
        return self._file.write

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
