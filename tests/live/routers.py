"""Networks of semantic routers within this process, on real sockets and disks."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from semcast.protocol.semnet.router import SemanticRouter
from semcast.server.config import read_config
from semcast.server.embedded import Embedded
from semcast.trees.topology import Broker, Link, Topology
from tests.live.overlays import until
from tests.protocol.semantic_network import FIGURE_4_1

CONFIG = """
name = "test"
scheme = "semnet"
data = "data"

[topology]
file = "topology.json"

[streams.s]
language = "semantic"

[settings]
tick_s = 0.05
dead_s = 30
"""


def written(folder: Path, topology: Topology, config: str = CONFIG) -> Path:
    """A deployment's file in a folder, with its topology beside it."""
    (folder / "topology.json").write_text(topology.to_json())
    file = folder / "up.toml"
    file.write_text(config)
    return file


@asynccontextmanager
async def network(folder: Path, topology: Topology, config: str = CONFIG) -> AsyncIterator[Embedded]:
    """A network whose links are there, and whose routers know of each other."""
    whole = Embedded(read_config(written(folder, topology, config)))
    await whole.start()
    try:
        await until(lambda: quiet(whole))
        yield whole
        assert not whole.failure.done(), whole.failure.exception()
    finally:
        await whole.stop()


def router(whole: Embedded, name: str) -> SemanticRouter:
    found = whole.brokers[name].node.router
    assert found is not None
    return found


def quiet(whole: Embedded) -> bool:
    """Do all neighbours know each other, and is every interest confirmed that was said?"""
    for name, host in whole.brokers.items():
        machine = router(whole, name)
        said = [said for held in machine.trees.values() for said in held.said.values()]
        if not set(host.neighbours) <= set(host.peers) or machine._unheard or not all(one.taken for one in said):
            return False
    return True


def packets(whole: Embedded) -> Counter[tuple[str, str]]:
    """What went over each link, in both directions together."""
    found: Counter[tuple[str, str]] = Counter()
    for name, host in whole.brokers.items():
        for other, meter in host.links.items():
            found[min(name, other), max(name, other)] += meter.messages_out
    return found


def updates(whole: Embedded) -> Counter[tuple[str, str]]:
    """Interests that were told, by who told them to whom."""
    told = {
        (name, port): counts.updates_out
        for name in whole.brokers
        for port, counts in router(whole, name).counts.items()
        if port in whole.brokers
    }
    return Counter({link: count for link, count in told.items() if count})


def figure_4_1() -> Topology:
    roles = {"1": ("source",), "2": ("source",), "6": ("gateway",), "8": ("gateway",)}
    brokers = [Broker(str(number), roles=roles.get(str(number), ())) for number in range(1, 10)]
    return Topology.of(brokers, [Link(a, b) for a, b in FIGURE_4_1])
