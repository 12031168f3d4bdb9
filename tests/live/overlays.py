"""Overlays of a test: a whole one within this process, on real sockets and disks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from semcast.server.config import Deployed, read_config
from semcast.server.embedded import Embedded

CONFIG = """
name = "test"
scheme = "{scheme}"
channels = 4
data = "data"

[topology]
brokers = {brokers}
degree = 3
seed = {seed}
sources = {sources}
gateways = {gateways}

[streams.topics]
language = "topic"

[streams.quotes]
schema = {{ symbol = "string", price = "double" }}

[settings]
tick_s = 0.05
{settings}
"""
CALM = "dead_s = 30\nlease_s = 20\nleader_s = 20\ngrace_s = 20\nsilence_s = 30"
"""However busy the machine is, nobody is taken for dead."""


def written(
    folder: Path,
    *,
    scheme: str = "masked",
    brokers: int = 8,
    sources: int = 1,
    gateways: int = 4,
    seed: int = 5,
    more: str = "",
    settings: str = "",
) -> Path:
    """A deployment's file in a folder."""
    file = folder / "up.toml"
    text = CONFIG.format(
        scheme=scheme, brokers=brokers, sources=sources, gateways=gateways, seed=seed, settings=settings
    )
    file.write_text(text + more)
    return file


def deployed(folder: Path, **options: object) -> Deployed:
    return read_config(written(folder, **options))  # type: ignore[arg-type]


@asynccontextmanager
async def overlay(folder: Path, file: Path | None = None, **options: object) -> AsyncIterator[Embedded]:
    """An overlay that has settled: all brokers are there, and the plan counts on all of them."""
    whole = Embedded(read_config(file) if file is not None else deployed(folder, **options))
    await whole.start()
    try:
        await until(lambda: settled(whole))
        yield whole
        assert not whole.failure.done(), whole.failure.exception()
    finally:
        await whole.stop()


def settled(whole: Embedded) -> bool:
    """Is the plan in force the one for all brokers and all that was asked for, and nothing under way?"""
    machine = whole.coordinators["c0"].machine
    deployment = machine.current
    if deployment is None or set(deployment.brokers) != set(whole.brokers):
        return False
    state = machine.state()
    sources = [host.node.source for host in whole.brokers.values() if host.node.source is not None]
    leased = all(source.leased(asyncio.get_running_loop().time()) for source in sources)
    same = machine.all_live and not state["planning"] and not state["gathering"]
    return leased and same and state["phase"] == "settled" and state["draining"] == 0


def taken(whole: Embedded) -> bool:
    """Has every session taken all that is in the logs, so that nothing more can come to anybody?"""
    ends = {name: host.node.source.log.end for name, host in whole.brokers.items() if host.node.source is not None}
    gateways = [host.node.gateway for host in whole.brokers.values() if host.node.gateway is not None]
    return all(
        session.cursor.get(source, 0) == end
        for gateway in gateways
        for session in gateway.sessions.values()
        for source, end in ends.items()
    )


async def until(
    true: Callable[[], bool] | Callable[[], Awaitable[bool]], patience_s: float = 60.0, every_s: float = 0.05
) -> None:
    """Wait for something to become true; a test that waits in vain fails here."""
    loop = asyncio.get_running_loop()
    end = loop.time() + patience_s
    while True:
        found = true()
        if not isinstance(found, bool):
            found = await found
        if found:
            return
        assert loop.time() < end, f"not within {patience_s:g} s"
        await asyncio.sleep(every_s)
