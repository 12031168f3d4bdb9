"""An overlay of processes that are killed while messages flow: everybody has exactly what is his."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest

from semcast.client import Client
from semcast.model.message import Message
from semcast.planning.plan import Plan
from semcast.server.serve import run
from tests.history.checker import Checker, Fault
from tests.history.records import Recorder
from tests.live.deployments import Deployment, Flow, opened, running
from tests.live.overlays import until, written
from tests.live.topics import expected, some_profile, some_topic
from tests.live.watchers import EventWatcher, HttpWatcher, MqttWatcher, PythonWatcher, SocketWatcher, Watcher

pytestmark = pytest.mark.system
ROLES_APART = 9
"""An overlay in which no broker has two roles, and trees lead over brokers that have none."""
KINDS = ("python", "sse", "websocket", "mqtt qos 1", "mqtt qos 0")


@dataclass(frozen=True)
class Load:
    """How much the overlay of a test has to carry."""

    messages: int
    watchers: int
    scheme: str = "masked"
    patience_s: float = 120.0
    """How long the last message may take after the last one was published."""


@pytest.mark.parametrize(
    "load",
    [
        pytest.param(Load(50_000, 200), id="masked", marks=pytest.mark.timeout(1200)),
        pytest.param(Load(10_000, 40, scheme="semcast"), id="semcast", marks=pytest.mark.timeout(1200)),
        pytest.param(
            Load(1_000_000, 200, patience_s=600.0), id="million", marks=[pytest.mark.slow, pytest.mark.timeout(7200)]
        ),
    ],
)
def test_everybody_has_his_messages_once_whoever_is_killed(tmp_path: Path, load: Load) -> None:
    run(_everybody_has_his_messages(tmp_path, load))


async def _everybody_has_his_messages(folder: Path, load: Load) -> None:
    rng = np.random.default_rng(7)
    file = written(folder, brokers=10, sources=2, gateways=4, scheme=load.scheme, seed=ROLES_APART)
    async with running(file) as up:
        clients = [await opened(up.addresses[name]) for name in up.having("gateway")]
        watching = _watchers(up, clients, load.watchers, rng)
        assert {watcher.kind for watcher in watching} == set(KINDS)
        async with asyncio.timeout(120):
            await asyncio.gather(*(watcher.live() for watcher in watching))
        checker = Checker()
        recorder = Recorder(sink=checker.read)
        for number, watcher in enumerate(watching):
            watcher.record(recorder, f"{watcher.kind} {number}")
        made = [clients[0].message("topics", f"m{n}", topic=some_topic(rng)) for n in range(load.messages)]
        fallen = await _published_while_somebody_falls(up, clients[0], made, recorder)
        assert len(up.reorganisations) >= 3
        await _judge(watching, made, load, {up.addresses[name] for name in fallen})
        topics = {message.payload.decode(): str(message.topic) for message in made}
        recorder.topics([watcher.profile for watcher in watching], topics)
        recorder.end()
        assert _beyond_what_mqtt_promises(checker.verdict(), watching, fallen, up) == []
        for watcher in watching:
            await watcher.stop()
        for client in clients:
            await client.close()


def _watchers(up: Deployment, clients: list[Client], count: int, rng: np.random.Generator) -> list[Watcher]:
    """As many of every kind at every gateway; those that go elsewhere when theirs falls go around."""
    gateways = up.having("gateway")
    turns = [cycle(up.addresses[name] for name in gateways[at:] + gateways[:at]) for at in range(len(gateways))]
    found: list[Watcher] = []
    for number in range(count):
        at, kind = number % len(gateways), KINDS[number // len(gateways) % len(KINDS)]
        profile = some_profile(rng)
        if kind == "python":
            found.append(PythonWatcher(clients[at], profile))
        elif kind == "sse":
            found.append(EventWatcher(turns[at].__next__, profile))
        elif kind == "websocket":
            found.append(SocketWatcher(turns[at].__next__, profile))
        else:
            name, qos = f"watcher-{number}", int(kind[-1])
            found.append(MqttWatcher(up.addresses[gateways[at]], name, profile, qos=qos))
    return found


# --- who falls


async def _published_while_somebody_falls(
    up: Deployment, client: Client, made: list[Message], recorder: Recorder
) -> list[str]:
    """A share of the messages for each victim, which is killed in the midst of it; each time plans are made anew."""
    fallen: list[str] = []
    for number, chosen in enumerate((_interior, _rendezvous, _gateway, _source, _coordinator)):
        victim = chosen(up, await up.plan(), fallen)
        share = made[number * len(made) // 5 : (number + 1) * len(made) // 5]
        flow = Flow(client, up.having("source"), share, recorder)
        await flow.halfway.wait()
        assert not flow.done.done(), "nothing is shown where nobody publishes any more"
        await up.kill(victim)
        fallen.append(victim)
        await up.reorganised()
        await flow.done
    print("killed:", ", ".join(fallen))
    return fallen


def _interior(up: Deployment, plan: Plan, fallen: list[str]) -> str:
    """A broker without clients or publishers that passes messages on in the plan in force."""
    passing = {above for channel in plan.channels for above, _ in channel.tree}
    return min(name for name in passing if not up.roles[name])


def _rendezvous(up: Deployment, plan: Plan, fallen: list[str]) -> str:
    """Where most trees hang: under masks that is a source, else a broker that is nothing else, if there is one."""
    hang = Counter(channel.rendezvous for channel in plan.channels if channel.tree)
    return max(sorted(hang), key=lambda name: (name not in fallen, not up.roles[name], hang[name]))


def _gateway(up: Deployment, plan: Plan, fallen: list[str]) -> str:
    return up.having("gateway")[1]


def _source(up: Deployment, plan: Plan, fallen: list[str]) -> str:
    return next(name for name in up.having("source") if name not in fallen)


def _coordinator(up: Deployment, plan: Plan, fallen: list[str]) -> str:
    return "c0"


# --- what came


def _due(watching: Sequence[Watcher], made: Sequence[Message]) -> dict[str, Counter[str]]:
    """Profile → what matches it. Each topic is looked at once."""
    by_topic: dict[str, list[Message]] = {}
    for message in made:
        by_topic.setdefault(str(message.topic), []).append(message)
    found: dict[str, Counter[str]] = {}
    for profile in {watcher.profile for watcher in watching}:
        asked = Counter({topic: bool(expected(profile, held[:1])) for topic, held in by_topic.items()})
        found[profile] = Counter(m.payload.decode() for topic in asked if asked[topic] for m in by_topic[topic])
    return found


async def _judge(watching: Sequence[Watcher], made: Sequence[Message], load: Load, fallen: set[str]) -> None:
    """All have theirs once; at QoS 1 maybe twice; at QoS 0 what is missing is counted.

    A gateway that comes back may not know what it sent last at QoS 0; another one sends nothing twice.
    """
    due = _due(watching, made)
    sure = [watcher for watcher in watching if watcher.kind != "mqtt qos 0"]
    unsure = [watcher for watcher in watching if watcher.kind == "mqtt qos 0"]
    try:
        for watcher in sure:
            await until(lambda watcher=watcher: due[watcher.profile].keys() <= watcher.got.keys(), load.patience_s)  # type: ignore[misc]
    finally:
        for kind_name in KINDS:
            print(_account([watcher for watcher in watching if watcher.kind == kind_name], due))
        for watcher in sure:
            lacking = due[watcher.profile].keys() - watcher.got.keys()
            if lacking:
                print(watcher.kind, watcher.profile, len(lacking), sorted(lacking)[:5])
    await _still(watching)
    for watcher in sure:
        if isinstance(watcher, MqttWatcher):
            assert watcher.got.keys() == due[watcher.profile].keys(), watcher.profile
        else:
            assert watcher.got == due[watcher.profile], (watcher.kind, watcher.profile)
    for watcher in unsure:
        assert isinstance(watcher, MqttWatcher)
        assert watcher.got.keys() <= due[watcher.profile].keys(), watcher.profile
        assert watcher.address in fallen or watcher.got.total() == len(watcher.got), watcher.profile
    for kind in (EventWatcher, SocketWatcher):
        assert any(isinstance(watcher, HttpWatcher) and watcher.breaks for watcher in watching if type(watcher) is kind)


def _beyond_what_mqtt_promises(
    faults: list[Fault], watching: Sequence[Watcher], fallen: list[str], up: Deployment
) -> list[str]:
    """A gateway that comes back may not know what it sent last at QoS 0, and sends it again."""
    addresses = {up.addresses[name] for name in fallen}
    unsure = {
        f"{watcher.kind} {number}"
        for number, watcher in enumerate(watching)
        if isinstance(watcher, MqttWatcher) and watcher.kind == "mqtt qos 0" and watcher.address in addresses
    }
    return [str(fault) for fault in faults if not (fault.promise == "once" and fault.who in unsure)]


def _account(watching: Sequence[Watcher], due: dict[str, Counter[str]]) -> str:
    owed = sum(due[watcher.profile].total() for watcher in watching)
    missing = sum(len(due[watcher.profile].keys() - watcher.got.keys()) for watcher in watching)
    again = sum(watcher.got.total() - len(watcher.got) for watcher in watching)
    return f"{watching[0].kind}: {len(watching)} clients, {owed:,} messages, {missing:,} lost, {again:,} more than once"


async def _still(watching: Sequence[Watcher]) -> None:
    """Wait until nothing more has come to anybody for a while."""
    before, seen = -1, 0
    while seen > before:
        await asyncio.sleep(2.0)
        before, seen = seen, sum(watcher.got.total() for watcher in watching)
