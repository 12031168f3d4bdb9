"""Where a coordinator's plans are made: whatever becomes of who offered to make them, there is one plan per order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from semcast.protocol.contract import Event, PlanMade
from semcast.protocol.coordinator.commissions import Commission, Found
from semcast.protocol.coordinator.orders import Order
from semcast.protocol.wire.frames import AnyFrame, FoundPlan, OrderPlan
from semcast.protocol.wire.framing import FrameError
from semcast.server.planning import HERE, Planning
from semcast.trees.generators import generate
from tests.laws.plan_orders import order_of, reorganisation

OVERLAY = generate("waxman", 12, np.random.default_rng(5), degree=3.0)


class Host:
    """Hears what a coordinator's host would."""

    def __init__(self, patience_s: float = 600.0) -> None:
        self.sent: list[tuple[str, OrderPlan]] = []
        self.made: list[PlanMade] = []
        self.failed: list[BaseException] = []
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.too_large = False
        self.planning = Planning(self, patience_s)

    def say(self, to: str, frame: AnyFrame) -> int:
        assert isinstance(frame, OrderPlan)
        if self.too_large:
            raise FrameError("too large")
        self.sent.append((to, frame))
        return 1

    def feed(self, event: Event) -> None:
        assert isinstance(event, PlanMade)
        self.made.append(event)

    def fail(self, error: BaseException) -> None:
        self.failed.append(error)

    def happened(self, what: str, details: dict[str, Any]) -> None:
        self.events.append((what, details))

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not true():
                await asyncio.sleep(0.005)

    async def ordered(self, order: Order, *planners: str) -> OrderPlan:
        """Planners offer, an order is made, and the first of them gets it."""
        for name in planners:
            self.planning.offered(name, "Spark")
        self.planning.make(order)
        await self.until(lambda: self.sent)
        assert self.sent[-1][0] == planners[0]
        return self.sent[-1][1]

    async def idle(self) -> None:
        """Wait until nobody works on a plan any more, and the loop has heard all that was found."""
        while busy := [thread for thread in threading.enumerate() if thread.name == "semcast-plan"]:
            for thread in busy:
                # Its result is scheduled before it ends, and so comes before the word that it has ended.
                await asyncio.to_thread(thread.join)
        await asyncio.to_thread(lambda: None)  # a thread may have ended before anybody looked

    async def planned_here(self) -> None:
        await self.until(lambda: self.made or self.failed)
        assert (self.planning.planned_by, self.failed) == (HERE, [])


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(test())  # type: ignore[arg-type]


def made_from(frame: OrderPlan) -> Found:
    return Commission.unpacked(frame.order).found()


def test_a_reorganisation_is_ordered_from_who_offered_and_its_plan_is_taken() -> None:
    async def test() -> None:
        host, (order, found) = Host(), reorganisation(OVERLAY, "semcast")
        frame = await host.ordered(order, "a", "b")
        assert made_from(frame) == found
        host.planning.found("a", FoundPlan(frame.number, found.packed()))
        host.planning.found("a", FoundPlan(frame.number, found.packed()))
        host.planning.lost("a")  # it has done what it was asked for
        await host.until(lambda: host.made)
        assert host.planning.planned_by == "a"
        await host.idle()
        assert host.made == [PlanMade(order.number, order.made())]
        assert len(host.sent) == 1

    run(test)


@pytest.mark.parametrize("why", ["no planner", "no statistics", "a scheme without statistics", "too large"])
def test_all_other_plans_are_made_here(why: str) -> None:
    async def test() -> None:
        host, (order, _) = Host(), reorganisation(OVERLAY, "spt" if "scheme" in why else "masked")
        if why == "no statistics":
            order = order_of(OVERLAY, "masked", dict(order.wanted), 3)
        if why != "no planner":
            host.planning.offered("a", "Spark")
        host.too_large = why == "too large"
        host.planning.make(order)
        await host.planned_here()
        assert not host.sent
        assert [event.number for event in host.made] == [order.number]

    run(test)


@pytest.mark.parametrize("trouble", ["gone", "error", "nonsense", "another plan", "too late"])
def test_a_reorganisation_whose_planner_fails_is_made_here(trouble: str) -> None:
    async def test() -> None:
        host = Host(0.05 if trouble == "too late" else 600.0)
        order, found = reorganisation(OVERLAY, "masked")
        frame = await host.ordered(order, "a")
        other = Found(msgspec.structs.replace(found.plan, epoch=99))
        answers = {
            "error": FoundPlan(frame.number, b"", "no memory"),
            "nonsense": FoundPlan(frame.number, b"x"),
            "another plan": FoundPlan(frame.number, other.packed()),
        }
        if trouble == "gone":
            host.planning.lost("a")
        elif trouble in answers:
            host.planning.found("a", answers[trouble])
        await host.planned_here()
        host.planning.found("a", FoundPlan(frame.number, found.packed()))
        await host.idle()
        assert [(event.number, event.made.deployment.plan) for event in host.made] == [
            (order.number, order.put(found.plan, found.late).deployment.plan)
        ]
        assert {about["planner"] for _, about in host.events} == {"a"}
        told = [what for what, _ in host.events]
        assert told == ["planner is here", "planner is gone" if trouble == "gone" else "planner failed"]

    run(test)


def test_when_a_planner_goes_the_next_one_gets_the_order() -> None:
    async def test() -> None:
        host, (order, found) = Host(), reorganisation(OVERLAY, "masked")
        frame = await host.ordered(order, "a", "b")
        host.planning.lost("a")
        assert host.sent[1:] == [("b", frame)]
        host.planning.found("a", FoundPlan(frame.number, b"late, and of nobody"))
        await host.idle()
        assert not host.made
        assert "planner failed" not in [what for what, _ in host.events]
        host.planning.found("b", FoundPlan(frame.number, found.packed()))
        await host.until(lambda: host.made)
        assert host.planning.planned_by == "b"

    run(test)


def test_an_order_that_is_overtaken_by_another_is_not_waited_for() -> None:
    async def test() -> None:
        host, (order, found) = Host(), reorganisation(OVERLAY, "masked")
        frame = await host.ordered(order, "a")
        host.planning.make(order_of(OVERLAY, "masked", dict(order.wanted), 3, number=5))
        host.planning.found("a", FoundPlan(frame.number, found.packed()))
        host.planning.lost("a")
        await host.planned_here()
        await host.idle()
        assert [event.number for event in host.made] == [5]

    run(test)


def test_of_two_orders_that_are_made_here_only_the_later_ends_in_a_plan() -> None:
    async def test() -> None:
        host, (order, found) = Host(), reorganisation(OVERLAY, "semcast")
        host.planning.make(order_of(OVERLAY, "masked", dict(order.wanted), 3, number=5))
        host.planning.make(order)
        await host.idle()
        assert [(event.number, event.made.deployment.plan) for event in host.made] == [
            (order.number, order.put(found.plan, found.late).deployment.plan)
        ]

    run(test)


def test_a_plan_that_cannot_be_made_here_either_ends_the_coordinator() -> None:
    async def test() -> None:
        host, (order, _) = Host(), reorganisation(OVERLAY, "masked")
        object.__setattr__(order, "planner", None)
        host.planning.make(order_of(OVERLAY, "masked", dict(order.wanted), 3))
        await host.planned_here()
        object.__setattr__(order, "samples", None)
        host.planning.make(order)
        await host.until(lambda: host.failed)

    run(test)
