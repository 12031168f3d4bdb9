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

from semcast.experiments.workloads import Workload

_together: Barrier | None = None  # in a worker process: where all wait, so that they start at once


def parse_rates(workload: Workload, seed: int, count: int, rounds: int) -> dict[str, float]:
    """Profiles of the workload's form parsed per second of wall clock, best of ``rounds``."""
    form = replace(workload, profiles=count)
    return {
        "two_cores_per_second": _rate(2, form, seed, rounds, True),
        "one_core_per_second": _rate(1, form, seed, rounds, True),
        "two_cores_per_second_without_templates": _rate(2, form, seed, rounds, False),
        "one_core_per_second_without_templates": _rate(1, form, seed, rounds, False),
    }


def _rate(processes: int, form: Workload, seed: int, rounds: int, templates: bool) -> float:
    """Sum over processes that parse at the same time, each ``form.profiles`` texts of its own."""
    spawn = multiprocessing.get_context("spawn")  # a fork would inherit skeletons, and threads
    barrier = spawn.Barrier(processes)
    work = [(form, seed + number, rounds, templates) for number in range(processes)]
    with spawn.Pool(processes, _start, [barrier]) as pool:  # leaving it ends the processes, also on Ctrl-C
        rounds_of = pool.starmap(_parse_all, work, chunksize=1)
    best = min(max(seconds) for seconds in zip(*rounds_of, strict=True))  # a round is over when the last one is
    return float(processes * form.profiles / best)


def _start(barrier: Barrier) -> None:
    global _together
    _together = barrier
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the whole group; the parent ends us


def _parse_all(form: Workload, seed: int, rounds: int, templates: bool) -> list[float]:
    """Seconds that each round took in this process; every round starts with no skeleton known."""
    from semcast.profiles.relational import profile
    from semcast.profiles.relational.templates import Templates

    texts = form.texts(seed)
    parse: Callable[[str], Any] = profile.parse if templates else lambda text: profile._parsed(text, None)
    taken = []
    for _ in range(rounds):
        profile._templates = Templates()
        assert _together is not None
        _together.wait()
        begin = time.perf_counter()
        parsed = [parse(text) for text in texts]
        taken.append(time.perf_counter() - begin)
        del parsed
    return taken
