"""One broker of ours and a server of the field on one machine: started, measured in turns, reported alike."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from semcast_experiments.bench.clients.single import Single
from semcast_experiments.bench.forward.servers import Server
from semcast_experiments.bench.matching import Options
from semcast_experiments.bench.race import Say
from semcast_experiments.bench.report import machine, versions

At = tuple[Server, int]
"""A server and its port."""


class Peer(NamedTuple):
    name: str
    package: str
    """Debian's, to be named where it is missing."""
    start: Callable[[Path], At | None]


def duel(
    name: str, peer: Peer, options: Options, say: Say, measure: Callable[[At, At | None], dict[str, Any]]
) -> dict[str, Any]:
    """Start both, let ``measure`` fill the report, and end both whatever happens."""
    begin = time.perf_counter()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="semcast-bench-")))
        say("starting the servers")
        ours = Single(folder / "semcast")
        stack.callback(ours.stop)
        theirs = peer.start(folder)
        if theirs is None:
            package = peer.package
            say(f"!!! {package} is not installed: NOTHING IS MEASURED AGAINST IT (apt-get install {package})")
        else:
            stack.callback(theirs[0].stop)
        found = measure((ours.server, ours.port), theirs)
    return {
        "benchmark": name,
        "peer": peer.name,
        "quick": options.quick,
        "seed": options.seed,
        "machine": machine(),
        "versions": versions(),
        **found,
        "seconds": round(time.perf_counter() - begin, 1),
    }
