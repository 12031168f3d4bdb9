"""A deployment as processes: each broker and coordinator its own, started again when it dies."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from pathlib import Path

from semcast.model import SemcastError
from semcast.net.host import log
from semcast.server.config import Deployed
from semcast.server.warmup import GETTING_READY

_FIRST_S, _LONGEST_S = 0.2, 5.0
_LIVED_S = 10.0
_START_S, _STOP_S = 60.0, 10.0


class Part:
    """One process, and what is known of it."""

    def __init__(self, name: str, command: Callable[[], list[str]]) -> None:
        self.name = name
        self.command = command
        self.address = ""
        self.restarts = 0
        self.process: Process | None = None
        self.ready = asyncio.Event()
        self.waits_until = float("-inf")
        """It has said that its disk takes nothing, and is not late before this moment."""

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process is not None and self.process.returncode is None else None


class Processes:
    """All processes of a deployment."""

    def __init__(self, deployed: Deployed, config_file: Path, *, verbose: bool = False) -> None:
        self.deployed = deployed
        self.parts: dict[str, Part] = {}
        self._file = config_file
        self._verbose = ["--verbose"] if verbose else []
        self._stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._keepers: list[asyncio.Task[None]] = []

    def stopping(self) -> bool:
        return self._stop.done()

    async def start(self) -> None:
        """Start everything, coordinators first; returns when all listen."""
        log.info(GETTING_READY)
        warming = asyncio.create_task(self._warmed())
        coordinators = self.deployed.config.coordinator_names()
        for name in coordinators:
            self._add(name, lambda name=name: ["coordinator", str(self._file), "--name", name])  # type: ignore[misc]
        await warming  # the first time that takes a minute or two, and the coordinators compile meanwhile too
        await self._all_ready(coordinators)
        brokers = [broker.id for broker in self.deployed.topology.brokers]
        for name in brokers:
            self._add(name, lambda name=name: self._broker(name))  # type: ignore[misc]
        await self._all_ready(brokers)

    async def _warmed(self) -> None:
        """Have code compiled once, before the brokers start: else each of them would compile the same.

        In a process of its own: this one only watches the others, and stays small.
        """
        words = [sys.executable, "-m", "semcast.server.warmup", *self.deployed.view().languages()]
        process = await asyncio.create_subprocess_exec(*words, start_new_session=True)
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            raise
        if code:
            log.warning("code could not be compiled beforehand (%s); each broker will try", _why(code))

    def _broker(self, name: str) -> list[str]:
        known = [self.parts[c].address for c in self.deployed.config.coordinator_names()]
        words = [word for address in known for word in ("--coordinator", address)]
        folder = str(self.deployed.folder / name)
        return ["broker", name, *words, "--listen", self.deployed.listen(name), "--data", folder]

    def _add(self, name: str, command: Callable[[], list[str]]) -> None:
        part = self.parts[name] = Part(name, command)
        self._keepers.append(asyncio.create_task(self._kept(part)))

    async def _all_ready(self, names: list[str]) -> None:
        loop, begun = asyncio.get_running_loop(), asyncio.get_running_loop().time()
        while missing := [name for name in names if not self.parts[name].ready.is_set()]:
            due = max(begun + _START_S, *(self.parts[name].waits_until for name in missing))
            if loop.time() < due:
                await asyncio.sleep(0.05)
                continue
            await self.stop()
            raise SemcastError(f"not started within {_START_S:g} s: {', '.join(missing)}; what they said is above")

    async def _kept(self, part: Part) -> None:
        """Run a process, and again when it ends, later each time it did not live long."""
        loop, pause = asyncio.get_running_loop(), _FIRST_S
        while not self.stopping():
            begun = loop.time()
            await self._lived(part)
            if self.stopping():
                return
            code = part.process.returncode if part.process is not None else None
            pause = _FIRST_S if loop.time() - begun > _LIVED_S else min(2 * pause, _LONGEST_S)
            log.warning("%s ended (%s); it is started again in %.1f s", part.name, _why(code), pause)
            part.ready.clear()
            part.restarts += 1
            await asyncio.wait([self._stop], timeout=pause)

    async def _lived(self, part: Part) -> None:
        part.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "semcast", *part.command(), *self._verbose, stdout=PIPE, start_new_session=True
        )
        if self.stopping():  # the end came while it was being started
            part.process.terminate()
        assert part.process.stdout is not None
        async for line in part.process.stdout:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                told = json.loads(line)
                if "waiting" in told:
                    part.waits_until = asyncio.get_running_loop().time() + _START_S
                else:
                    part.address = told["address"]
                    part.ready.set()
        await part.process.wait()

    async def stop(self) -> None:
        """End all, brokers before coordinators; who does not end in time is killed."""
        if not self.stopping():
            self._stop.set_result(None)
        coordinators = set(self.deployed.config.coordinator_names())
        for group in (set(self.parts) - coordinators, coordinators):
            await self._end([self.parts[name] for name in group if name in self.parts])
        await asyncio.gather(*self._keepers, return_exceptions=True)

    async def _end(self, parts: list[Part]) -> None:
        running = [part.process for part in parts if part.pid is not None and part.process is not None]
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        waits = [asyncio.create_task(process.wait()) for process in running]
        if not waits:
            return
        await asyncio.wait(waits, timeout=_STOP_S)
        for process in running:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()

    def addresses(self) -> dict[str, str]:
        return {name: part.address for name, part in self.parts.items()}


def _why(code: int | None) -> str:
    if code is None:
        return "it could not be started"
    return f"by signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
