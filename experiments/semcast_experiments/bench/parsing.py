"""How many profiles are parsed per second, on one core and on two.

Each measurement runs in processes that have parsed nothing before, since a process remembers the
skeletons of the profiles it has seen (``semcast.profiles.relational.templates``).
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from typing import Any

from semcast_experiments.workloads.relational import Workload

_together: Barrier | None = None  # in a worker process: where all wait, so that they start at once


def parse_rates(workload: Workload, seed: int, count: int, rounds: int) -> dict[str, float]:
    """Profiles of the workload's form parsed per second of wall clock, best of ``rounds``."""
    form = replace(workload, profiles=count)
    two, one = _rates(2, form, seed, rounds), _rates(1, form, seed, rounds)
    return {
        "two_cores_per_second": two[0],
        "one_core_per_second": one[0],
        "two_cores_per_second_without_templates": two[1],
        "one_core_per_second_without_templates": one[1],
    }


def _rates(processes: int, form: Workload, seed: int, rounds: int) -> tuple[float, float]:
    """With and without templates, for processes that parse ``form.profiles`` texts each at the same time."""
    spawn = multiprocessing.get_context("spawn")  # a fork would inherit skeletons, and threads
    barrier = spawn.Barrier(processes)
    work = [(form, seed + number, rounds) for number in range(processes)]
    with spawn.Pool(processes, _start, [barrier]) as pool:  # leaving it ends the processes, also on Ctrl-C
        rounds_of = pool.starmap(_parse_all, work, chunksize=1)
    # A round is over when its last process is.
    times = [max(seconds) for seconds in zip(*rounds_of, strict=True)]
    with_templates, without = min(times[:rounds]), min(times[rounds:])
    return processes * form.profiles / with_templates, processes * form.profiles / without


def _start(barrier: Barrier) -> None:
    global _together
    _together = barrier
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the parent ends us


def _parse_all(form: Workload, seed: int, rounds: int) -> list[float]:
    """Seconds that each round took in this process: first with templates, of which none is known, then without."""
    from semcast.profiles.relational import profile
    from semcast.profiles.relational.templates import Templates

    texts = form.texts(seed)
    ways: list[Callable[[str], Any]] = [profile.parse, lambda text: profile._parsed(text, None)]
    taken = []
    for parse in [way for way in ways for _ in range(rounds)]:
        profile._templates = Templates()
        assert _together is not None
        _together.wait()
        begin = time.perf_counter()
        parsed = [parse(text) for text in texts]
        taken.append(time.perf_counter() - begin)
        del parsed
    return taken
