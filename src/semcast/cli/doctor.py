"""`semcast doctor`: is all here that SemCast needs, and if not, what to do about it?"""

from __future__ import annotations

import math
import os
import resource
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import typer

from semcast.cli import render
from semcast.cli.options import Json
from semcast.model import SemcastError

_GIB = 1 << 30
_MEMORY, _DISK = 3 * _GIB, 2 * _GIB
_FILES = 1024
_SLOW_SYNC_MS = 50.0
_PACKAGES = ("pyspark", "pyarrow", "numpy", "numba", "lxml", "msgspec", "uvloop", "mqtt5")
_PORTS = {
    7400: "examples/up.toml wants it: change it under [ports] there, or stop who has it",
    7402: "examples/up.toml wants it: change it under [ports] there, or stop who has it",
    7480: "`semcast dashboard` wants it: give it another one with --port; `semcast demo` takes a free one itself",
}
_PROGRAMS = {
    "mosquitto": "tests and `semcast bench forward`",
    "nats-server": "`semcast bench forward`",
    "chromium": "tests of pages",
}


class Finding(NamedTuple):
    """What was looked at, and how it is: ``fine``, ``poor`` (it works, but) or ``broken``."""

    what: str
    state: Literal["fine", "poor", "broken"]
    detail: str
    advice: str = ""


def doctor(
    quick: Annotated[bool, typer.Option("--quick", help="Do not start Spark, which takes some seconds.")] = False,
    folder: Annotated[Path, typer.Option(help="Where logs would be kept: its disk is looked at.")] = Path(),
    json: Json = False,
) -> None:
    """Look whether this machine has what SemCast needs: Java, Spark, ports, memory, disk, versions.

    Ends with 1 where something is broken.
    """
    checks: list[Callable[[], Iterable[Finding]]] = [
        _python, _packages, _java, memory, lambda: _disk(folder), _files, _ports, _overlay, _programs,
    ]  # fmt: skip
    if not quick:
        checks.insert(3, _spark)
    found: list[Finding] = []
    spark = "" if quick else f"; {render.FIRST_TIME}"
    with render.step(f"looking around{spark}"):
        for check in checks:
            found.extend(check())
    if json:
        render.data([finding._asdict() for finding in found])
    else:
        rows = [(f"{_SIGNS[finding.state]} {finding.what}", finding.detail) for finding in found]
        render.table("This machine", None, rows, render.stdout)
    for finding in found:
        if finding.advice:
            render.say(f"{finding.what}: {finding.advice}")
    if any(finding.state == "broken" for finding in found):
        raise typer.Exit(1)


_SIGNS = {"fine": "✓", "poor": "!", "broken": "✗"}


def _python() -> Iterator[Finding]:
    yield Finding("Python", "fine", f"{sys.version.split()[0]}, {os.cpu_count()} cores")


def _packages() -> Iterator[Finding]:
    from semcast import __version__

    yield Finding("semcast", "fine", __version__)
    for name in _PACKAGES:
        try:
            yield Finding(name, "fine", metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Finding(name, "broken", "not installed", "`make demo` installs what is in requirements.lock")


def _java() -> Iterator[Finding]:
    from semcast.pipeline.java import find_java

    try:
        java = find_java()
    except SemcastError as error:
        yield Finding("Java", "broken", "none that runs Spark", str(error))
    else:
        yield Finding("Java", "fine", f"{java.version}, from {java.origin}")


def _spark() -> Iterator[Finding]:
    """Run a job whose rows go through Python and back."""
    from semcast.pipeline import match, session

    begin = time.perf_counter()
    try:
        spark = session("semcast doctor")
        matched = match(spark.range(100), {"p": "id < 10"}).count()
        seconds = time.perf_counter() - begin
        spark.stop()
    except Exception as error:  # of any kind: this command exists to tell of it
        yield Finding("Spark", "broken", "did not start, or did not match", str(error).splitlines()[0])
    else:
        state: Literal["fine", "broken"] = "fine" if matched == 100 else "broken"
        yield Finding("Spark", state, f"matched a batch, {seconds:.0f} s with its start")


def memory() -> Iterator[Finding]:
    """What programs may still take, of the machine and of this container's share."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        there = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return  # other systems count it in other ways
    there = int(min(there, _share()))
    smaller = "`semcast demo --messages 100000 --profiles 1000 --brokers 10 --subscribers 60`"
    advice = "" if there >= _MEMORY else f"Spark and a demo take about 3 GiB: stop something, or try {smaller}"
    yield Finding("memory", "fine" if not advice else "poor", f"{there / _GIB:.1f} GiB to be had", advice)


def _share(folder: Path = Path("/sys/fs/cgroup")) -> float:
    """What is left of a container's memory, with what the file cache would give back; infinite without a limit."""
    try:
        most, used, stat = ((folder / f"memory.{name}").read_text() for name in ("max", "current", "stat"))
    except OSError:
        return math.inf
    cache = sum(int(line.split()[1]) for line in stat.splitlines() if line.startswith("inactive_file "))
    return int(most) - int(used) + cache if most.strip().isdigit() else math.inf


def _disk(folder: Path) -> Iterator[Finding]:
    """Room, and how long a synced write takes: an acknowledgement waits for one."""
    try:
        free = shutil.disk_usage(folder).free
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".semcast-doctor-") as file:
            took = min(_synced(file.fileno()) for _ in range(3))
    except OSError as error:
        yield Finding("disk", "broken", f"{folder}: {error.strerror}", "choose another folder with --folder")
        return
    low = "" if free >= _DISK else "logs keep what gateways have not taken: make room"
    yield Finding("disk", "fine" if not low else "poor", f"{free / _GIB:.1f} GiB free in {folder.resolve()}", low)
    slow = "" if took < _SLOW_SYNC_MS else "every acknowledgement waits for it, a batch at a time"
    yield Finding("synced write", "fine" if not slow else "poor", f"{took:.1f} ms", slow)


def _synced(file: int) -> float:
    begin = time.perf_counter()
    os.write(file, bytes(4096))
    os.fsync(file)
    return 1000 * (time.perf_counter() - begin)


def _files() -> Iterator[Finding]:
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    advice = "" if most >= _FILES else f"a gateway needs a file per client: `ulimit -n {_FILES}` or more"
    yield Finding("open files", "fine" if not advice else "poor", f"{most:,} at most", advice)


def _ports() -> Iterator[Finding]:
    try:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname(), 5):
            yield Finding("loopback", "fine", "listens and connects")
    except OSError as error:
        yield Finding("loopback", "broken", str(error), "brokers on this machine cannot reach each other")
    for port, use in _PORTS.items():
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what has just been closed is free
            try:
                probe.bind(("127.0.0.1", port))
                yield Finding(f"port {port}", "fine", "free")
            except OSError as error:
                yield Finding(f"port {port}", "poor", error.strerror or str(error), use)


def _overlay() -> Iterator[Finding]:
    """The overlay that SEMCAST_URL names, if it names one."""
    from semcast.client.overlay import URL, addresses_of

    if not os.environ.get(URL):
        return
    for address in addresses_of(None):
        host, _, port = address.rpartition(":")
        try:
            with socket.create_connection((host, int(port)), 5):
                yield Finding(URL, "fine", f"{address} answers")
        except (OSError, ValueError) as error:
            yield Finding(URL, "poor", f"{address}: {error}", "`semcast up` starts an overlay")


def _programs() -> Iterator[Finding]:
    for name, use in _PROGRAMS.items():
        path = shutil.which(name)
        state: Literal["fine", "poor"] = "fine" if path else "poor"
        yield Finding(name, state, path or "not here", "" if path else f"needed for {use} only")
