"""Plans that take long, on real sockets: the coordinator goes on leading, hearing and answering meanwhile."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import semcast
from semcast.protocol.coordinator.orders import Made, Order
from semcast.server.serve import run
from tests.live.overlays import overlay, until

_LONG_S = 6.0
"""Twice as long as a coordinator leads without hearing from its store."""


def test_a_plan_that_takes_long_costs_neither_the_lead_nor_leases_nor_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(_the_lead_is_kept(tmp_path, monkeypatch))


async def _the_lead_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Order.made

    def made_slowly(order: Order) -> Made:
        end = time.monotonic() + _LONG_S
        while time.monotonic() < end:  # busy, as a planner is: it holds the interpreter as long as it may
            sum(range(1000))
        return made(order)

    async with overlay(folder, brokers=4, gateways=2) as whole:
        host = whole.coordinators["c0"]
        term, epoch = host.machine.term, host.machine.state()["epoch"]
        monkeypatch.setattr(Order, "made", made_slowly)
        async with semcast.connect(host.address) as client:
            assert host.reorganise()
            await until(lambda: bool(host.machine.state()["planning"]))
            subscription = await client.subscribe("topics", "a")  # which needs no plan
            assert host.machine.state()["planning"]
            published = 0
            while host.machine.state()["planning"]:
                await client.publish("topics", b"x", topic="b")  # under a lease
                status = await client.ask("status")
                assert (status["leads"], status["term"]) == (True, term)
                published += 1
            assert published > 1
            await until(lambda: host.machine.state()["epoch"] == epoch + 1)  # type: ignore[operator]
            assert host.machine.term == term
            await client.publish("topics", b"y", topic="a")
            assert (await subscription.__anext__()).payload == b"y"
            await subscription.close()
