"""A small overlay for runs that are told in detail: who is where is plain, and so is what a fault cuts off."""

from __future__ import annotations

from semcast.sim.scenario import Clients, Publishers, Scenario, Stream
from semcast.trees.declared import Overlay
from semcast.trees.topology import Broker, Link, Topology

# b0 takes messages in; b2, b3 and b4 serve clients:   b0 – b1 – b2
#                                                             |
#                                                             b3 – b4
LINKS = (("b0", "b1"), ("b1", "b2"), ("b1", "b3"), ("b3", "b4"))


def _overlay(delay_ms: float) -> Overlay:
    brokers, links = [Broker(f"b{at}") for at in range(5)], [Link(a, b, 1, delay_ms) for a, b in LINKS]
    return Overlay(json=Topology.of(brokers, links).to_json(), sources=("b0",), gateways=("b2", "b3", "b4"))


OVERLAY, FAR = _overlay(5.0), _overlay(150.0)
ALL = ("v0", "v1")


def scenario(**changes: object) -> Scenario:
    """Everybody asks for everything before the first message."""
    given: dict[str, object] = {
        "duration_s": 8.0,
        "quiet_s": 8.0,
        "topology": OVERLAY,
        "streams": (Stream(name="news", values=2, attributes=1),),
        "clients": (at_gateways(6),),
        "publishers": (Publishers(stream="news", rate_hz=10, from_s=2.5),),
    }
    return Scenario(**(given | changes))  # type: ignore[arg-type]


def at_gateways(count: int, *gateways: str, **changes: object) -> Clients:
    """Clients at these gateways in turn, there from the beginning."""
    given: dict[str, object] = {"attach_s": (0.0, 0.5), "profiles": ALL, "gateways": gateways or ("b2", "b3", "b4")}
    return Clients(stream="news", count=count, **(given | changes))  # type: ignore[arg-type]
