"""Whatever a client says: a broker that is source and gateway goes on, and its store takes what it keeps."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from semcast.net.view import LIVE
from semcast.protocol.contract import Received, Send, Sync, Synced, Tick
from semcast.protocol.node import Node
from semcast.protocol.planned_node import planned_node
from semcast.protocol.wire.codec import decode, encode
from semcast.protocol.wire.frames import Live
from semcast.protocol.wire.framing import FrameError
from semcast.protocol.wire.senders import AT_BROKER, Sender, objection
from semcast.storage.broker_store import BrokerStore
from tests.cases import CASES
from tests.laws.client_worlds import FRAMES, STREAMS
from tests.protocol.playbook import KEY, entry, install, lease, planned, switch

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Thousands of commits a minute would keep the disk from everybody else."""


def started(store: BrokerStore) -> Node:
    """Source ``s`` and gateway 0 in one, following a plan under a lease."""
    node = planned_node(
        "s", neighbours=["m"], coordinators=["c"], settings=LIVE, notes=store.notes, log=store.log, gateway=True,
        streams=STREAMS, incarnation=store.incarnation,
    )  # fmt: skip
    profiles = {"a": ("s",)}
    for frame in (
        install(1, entry(KEY, None, {"m": 2}, bit=0, acks=True), members={1: (KEY,)}, bit=0),
        switch(1, planned(), profiles=profiles, gateways=("s", "g1")),
        lease(1, lease_s=1e9),
    ):
        node.handle(Received("c", frame), 0.0)
    return node


@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(["p", "q"]), FRAMES), min_size=1, max_size=8))
def test_no_frame_of_a_client_stops_a_broker(said: list[tuple[str, Any]]) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        store = BrokerStore(Path(folder), source=True)
        try:
            _played(store, said)
        finally:
            store.close()
        again = BrokerStore(Path(folder), source=True)  # nor does what it has stored stop the next one
        try:
            _played(again, [])
        finally:
            again.close()


def _played(store: BrokerStore, said: list[tuple[str, Any]]) -> None:
    node, now = started(store), 0.0
    for sender, frame in said:
        try:
            frame = decode(encode(frame))
        except FrameError:
            continue  # it cannot be said at all
        assert objection(frame, sender, Sender.CLIENT, AT_BROKER) is None
        now += 0.3
        _done(node, store, node.handle(Received(sender, frame), now), now)
        gateway = node.gateway
        assert gateway is not None
        live = Live(1, store.incarnation, gateway.interests.serial, 1, (("s", 0),))
        _done(node, store, node.handle(Received("c", live), now), now)
        _done(node, store, node.handle(Tick(), now), now)


def _done(node: Node, store: BrokerStore, commands: list[Any], now: float) -> None:
    """All that the node sends can be encoded; what it appends is committed."""
    for command in commands:
        if isinstance(command, Send):
            encode(command.frame)
        elif isinstance(command, Sync):
            _done(node, store, node.handle(Synced(store.commit()), now), now)
    store.commit()
