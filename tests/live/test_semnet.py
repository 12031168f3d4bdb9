"""Semantic routers on real sockets: who gets what, what crosses links, and how far interests travel."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import semcast
from semcast.channels.selectivity import Selectivity
from semcast.matching.matches import Matches
from semcast.model import SemcastError
from semcast.model.message import Message, ProfileText
from semcast.planning.build import Request, make_plan
from semcast.planning.origins import Origins
from semcast.planning.subscriptions import Subscriptions
from semcast.profiles.semantic import parse
from semcast.protocol.filters import Filter
from semcast.server.config import read_config
from semcast.server.serve import run
from semcast.sim.cast import Feed
from semcast.sim.scenario import Clients, Publishers, Scenario, Stream
from semcast.sim.semnet import SemnetSimulation
from semcast.sim.workload import packet
from semcast.trees.declared import Overlay, having, topology_of
from semcast.trees.topology import Topology
from tests.live.http.metrics import metrics
from tests.live.http.running import ask
from tests.live.overlays import until
from tests.live.routers import CONFIG, figure_4_1, network, packets, quiet, router, updates, written
from tests.live.watchers import EventWatcher, MqttWatcher, PythonWatcher, SocketWatcher
from tests.protocol.semantic_network import packet as described
from tests.simulator.predicted import predicted_by

DRAWN = Overlay(brokers=10, degree=3.0, seed=5, sources=2, gateways=5)


class Recorded(SemnetSimulation):
    """A simulation that remembers what was offered where."""

    def __init__(self, *given: Any) -> None:
        self.offers: list[tuple[str, bytes]] = []
        super().__init__(*given)

    def _offer(self, feed: Feed, content: bytes, body: bytes) -> None:
        self.offers.append((feed.source, packet(content, b"m%d" % len(self.offers))))
        super()._offer(feed, content, body)


def simulated() -> Recorded:
    scenario = Scenario(
        duration_s=12.0,
        quiet_s=4.0,
        scheme="semnet",
        topology=DRAWN,
        streams=(Stream(name="s", language="semantic"),),
        clients=(Clients(stream="s", count=12, attach_s=(0.0, 1.0)),),
        publishers=(Publishers(stream="s", rate_hz=15.0, from_s=5.0),),
    )
    found = Recorded(scenario, 7)
    assert not found.run().violations
    return found


def undirected(links: Counter[tuple[str, str]]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for (a, b), count in links.items():
        found[min(a, b), max(a, b)] += count
    return found


def predicted(
    topology: Topology, wishes: list[tuple[str, str]], offers: list[tuple[str, bytes]]
) -> Counter[tuple[str, str]]:
    """What ``semcast cost`` counts for the plan of ``semcast plan --scheme semnet``, link by link."""
    texts = {str(parse(profile)) for _, profile in wishes}
    names = {text: f"p{number}" for number, text in enumerate(sorted(texts))}
    held: dict[str, set[str]] = {name: set() for name in names.values()}
    for gateway, profile in wishes:
        held[names[str(parse(profile))]].add(gateway)
    gateways = tuple(having(topology, "gateway"))
    subscriptions = Subscriptions.of(
        gateways, {name: tuple(sorted(at)) for name, at in held.items()}, {name: name for name in held}
    )
    sources = having(topology, "source")
    none = Selectivity.of(Matches.none(1), len(names))
    plan = make_plan("semnet", Request(topology, sources[0], subscriptions, none, origins=Origins.spread(sources, 1)))
    matching = Filter({name: ProfileText("s", "semantic", text) for text, name in names.items()})
    found: Counter[tuple[str, str]] = Counter()
    for source in sources:
        messages = [Message("s", payload) for at, payload in offers if at == source]
        found += predicted_by(plan, topology, source, matching.match(messages))
    return found


def due(profile: str, offers: list[tuple[str, bytes]]) -> Counter[str]:
    messages = [Message("s", payload) for _, payload in offers]
    matching = Filter({"p": ProfileText("s", "semantic", str(parse(profile)))}).match(messages)
    return Counter(m.payload.decode() for m, names in zip(messages, matching, strict=True) if names)


def test_links_carry_what_was_simulated_and_predicted_and_all_kinds_of_clients_get_what_is_theirs(
    tmp_path: Path,
) -> None:
    run(_as_predicted(tmp_path))


async def _as_predicted(folder: Path) -> None:
    simulation = simulated()
    topology = topology_of(DRAWN)
    wishes = [(simulation.driver.parties[user].at, str(wish.changes[0][1])) for user, wish in simulation.wishes.items()]
    expected = predicted(topology, wishes, simulation.offers)
    assert undirected(simulation.driver.meters.links) == expected
    assert expected.total() > 200
    async with network(folder, topology) as whole:
        addresses = whole.addresses()
        clients = {name: semcast.connect(addresses[name]) for name in having(topology, "gateway")}
        for client in clients.values():
            await client.open()
        watching: list[PythonWatcher | EventWatcher | SocketWatcher | MqttWatcher] = []
        for number, (gateway, profile) in enumerate(wishes):
            if number % 4 == 0:
                watching.append(PythonWatcher(clients[gateway], profile, "s"))
            elif number % 4 == 1:
                watching.append(MqttWatcher(addresses[gateway], f"watcher-{number}", profile, "s"))
            else:
                kind = EventWatcher if number % 4 == 2 else SocketWatcher
                watching.append(kind(lambda at=addresses[gateway]: at, profile, "s"))  # type: ignore[misc]
        await asyncio.gather(*(watcher.live() for watcher in watching))
        await until(lambda: quiet(whole))
        publisher = next(iter(clients.values()))
        for source, payload in simulation.offers:
            await publisher.publisher(source).put(publisher.message("s", payload))
        for watcher in watching:
            wanted = due(watcher.profile, simulation.offers)
            await until(lambda watcher=watcher, wanted=wanted: watcher.got.total() >= wanted.total())  # type: ignore[misc]
        await asyncio.sleep(0.3)
        for watcher in watching:
            assert watcher.got == due(watcher.profile, simulation.offers), watcher.kind
            await watcher.stop()
        assert packets(whole) == expected
        for client in clients.values():
            await client.close()


# --- the network of Figure 4.1


def test_the_network_of_figure_4_1_sends_nothing_to_routers_5_and_9(tmp_path: Path) -> None:
    run(_figure_4_1(tmp_path))


async def _figure_4_1(folder: Path) -> None:
    inner = described("A").replace("<A/>", "<A><x/></A>")
    async with network(folder, figure_4_1()) as whole, semcast.connect(whole.addresses()["6"]) as client:
        bob = PythonWatcher(client, "or {A; B}", "s", ["8"])
        await bob.live()
        await until(lambda: quiet(whole))
        before = updates(whole)
        alice = PythonWatcher(client, "A {x}", "s", ["6"])
        await alice.live()
        await until(lambda: quiet(whole))
        # Beyond router 4, which absorbs her, nobody hears of her but Bob's side, which had said nothing so far.
        assert updates(whole) - before == {("6", "4"): 1, ("4", "7"): 1, ("7", "8"): 1}
        before = updates(whole)
        covered = PythonWatcher(client, "A {x; y}", "s", ["6"])
        await covered.live()
        await until(lambda: quiet(whole))
        assert updates(whole) == before, "her neighbours know already that this is wanted"
        for source, content in (("1", inner), ("2", described("B")), ("1", described("C")), ("1", described("A"))):
            await client.publish("s", content, source=source)
        # Links keep order: when what everybody wants has come from both sources, nothing is under way before it.
        last = described("A").replace("<A/>", "<A><x/><y/></A>")
        for source in ("1", "2"):
            await client.publish("s", last, source=source)
        await until(lambda: all(watcher.got[last] == 2 for watcher in (alice, bob, covered)))
        assert alice.got == {inner: 1, last: 2}
        assert bob.got == {inner: 1, described("B"): 1, described("A"): 1, last: 2}
        assert covered.got == {last: 2}
        crossed = {link: count for link, count in packets(whole).items() if count}
        assert crossed == {
            ("1", "3"): 3, ("2", "3"): 2, ("3", "4"): 5, ("4", "6"): 3, ("4", "7"): 5, ("7", "8"): 5,
        }  # fmt: skip
        assert router(whole, "1").counts["3"].filtered == 1
        for watcher in (alice, bob, covered):
            await watcher.stop()


def test_every_page_of_a_router_says_what_it_filters_by(tmp_path: Path) -> None:
    run(_pages(tmp_path))


async def _pages(folder: Path) -> None:
    async with network(folder, figure_4_1()) as whole, semcast.connect(whole.addresses()["6"]) as client:
        alice = PythonWatcher(client, "A", "s", ["6"])
        await alice.live()
        await until(lambda: quiet(whole))
        await client.publish("s", described("A"), source="1")
        await client.publish("s", described("B"), source="1")
        await until(lambda: alice.got.total() == 1)

        async def page(name: str, path: str) -> Any:
            return (await asyncio.to_thread(ask, whole.addresses()[name], path)).json

        for name in ("c0", "4", "6"):
            assert await page(name, "/healthz") == {
                "name": name, "role": "coordinator" if name == "c0" else "broker", "healthy": True, "reasons": [],
            }  # fmt: skip
            assert (await page(name, "/channelz"))["channels"] == []
        (tree,) = (await page("4", "/treez"))["trees"]
        assert tree["filters"] == {"6": "A"}
        assert tree["nothing_wanted_by"] == ["3", "5", "7"]
        assert tree["said"] == {"3": "A", "5": "A", "7": "A"}
        assert (await page("c0", "/treez"))["routers"]["4"].endswith("/treez")
        (session,) = (await page("6", "/subz"))["sessions"]
        assert (session["profile"], session["live"]) == ("A", True)
        status = (await page("1", "/statusz"))["router"]
        assert (status["packets_out"], status["filtered"], status["filters"]) == (1, 1, 1)
        counters = await asyncio.to_thread(metrics, whole.addresses()["4"])
        assert counters['semcast_port_packets_out_total{peer="6"}'] == 1
        assert counters['semcast_link_messages_out_total{peer="6"}'] == 1
        assert counters['semcast_link_messages_in_total{peer="3"}'] == 1
        assert counters["semcast_filter_nodes"] == status["filter_nodes"] > 0
        out, came = (whole.brokers[name].links[other] for name, other in (("3", "4"), ("4", "3")))
        assert out.data_bytes_out == came.data_bytes_in > 0
        await alice.stop()


def test_a_stream_that_routers_cannot_filter_is_refused_with_its_line(tmp_path: Path) -> None:
    file = written(tmp_path, figure_4_1(), CONFIG.replace('language = "semantic"', 'language = "topic"'))
    line = file.read_text().splitlines().index('language = "topic"') + 1
    with pytest.raises(SemcastError, match=rf"up.toml:{line}: streams.s.language: semantic routers"):
        read_config(file)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ('6 = "backbone"', "routers.6: a backbone router serves nobody, and this one is a gateway"),
        ('12 = "network"', "routers.12: there is no such broker"),
        ('4 = "king"', "routers"),
    ],
)
def test_a_role_that_a_router_cannot_have_is_refused_with_its_line(tmp_path: Path, given: str, told: str) -> None:
    file = written(tmp_path, figure_4_1(), f"{CONFIG}\n[routers]\n{given}\n")
    with pytest.raises(SemcastError, match=rf"up.toml:\d+: .*{told}"):
        read_config(file)


def test_a_backbone_router_passes_the_upper_concepts_on(tmp_path: Path) -> None:
    run(_backbone(tmp_path))


async def _backbone(folder: Path) -> None:
    config = f'{CONFIG}\n[routers]\n3 = "backbone"\n4 = "network"\n'
    async with network(folder, figure_4_1(), config) as whole, semcast.connect(whole.addresses()["6"]) as client:
        alice = PythonWatcher(client, "a {b {c {d {e = 1}}}}", "s", ["6"])
        await alice.live()
        await until(lambda: quiet(whole))
        assert router(whole, "4").trees["s"].said["3"].text == 'a {b {c {d {e = "1"}}}}'
        assert router(whole, "3").trees["s"].said["1"].text == "a {b {c {d}}}"
        leaked, wanted = (described("a").replace("<a/>", f"<a><b><c><d><e>{n}</e></d></c></b></a>") for n in (2, 1))
        for content in (leaked, wanted):
            await client.publish("s", content, source="1")
        await until(lambda: alice.got.total() == 1)
        assert alice.got == {wanted: 1}
        assert (packets(whole)["1", "3"], packets(whole)["3", "4"]) == (2, 1)
        await alice.stop()


def test_the_example_is_a_network_of_routers() -> None:
    deployed = read_config(Path(__file__).parents[2] / "examples" / "routers.toml")
    assert (deployed.config.scheme, deployed.config.streams["charts"].language) == ("semnet", "semantic")
