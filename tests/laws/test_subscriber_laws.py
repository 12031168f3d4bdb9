"""A subscriber that is ticked only when it is due says and reports the same as one that is ticked all the time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semcast.protocol.client.subscriber import Subscriber, Waits
from semcast.protocol.contract import (
    Command,
    ConfirmTaken,
    EndSubscription,
    Event,
    GatewayHeard,
    GatewayMet,
    GiveBack,
    Received,
    ReplaceProfile,
    Tick,
)
from semcast.protocol.settings import Settings
from semcast.protocol.wire.frames import Attached, Beat, Deliver, Detached, Gap, Progress, ProtocolError
from tests.cases import CASES
from tests.protocol.playbook import body, topic

STEP_S = 0.125
SETTINGS = Settings(tick_s=STEP_S, beat_s=0.5, resend_s=0.625, held=8)
"""Times that binary fractions hold exactly: sums and differences of them agree."""
BASE = 100
GATEWAYS = ("g0", "g1")
Said = tuple[int, Command]


def _attached(version: int, base: int) -> Attached:
    return Attached("x", version, (("s", 5),), base, None, (("s", 5),))


SEQUENCES, NUMBERS = st.integers(BASE, BASE + 6), st.integers(4, 12)
FRAMES: st.SearchStrategy[Any] = st.one_of(
    st.builds(_attached, st.integers(0, 2), st.sampled_from([BASE, BASE, 200])),
    st.builds(lambda n: Deliver("x", BASE + n, "s", 5 + n, body()), st.integers(1, 6)),
    st.builds(Deliver, st.just("x"), SEQUENCES, st.just("s"), NUMBERS, st.just(body())),
    st.builds(Progress, st.just("x"), SEQUENCES, st.just("s"), NUMBERS),
    st.builds(Gap, st.just("x"), SEQUENCES, st.just("s"), NUMBERS, NUMBERS),
    st.builds(ProtocolError, st.just("why"), st.just("x"), st.booleans()),
    st.just(Beat(0.0)),
    st.just(Detached("x")),
)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(Received, st.sampled_from(GATEWAYS), FRAMES),
    st.builds(Received, st.just("g0"), FRAMES),
    st.builds(ReplaceProfile, st.sampled_from([topic("a"), topic("b")])),
    st.builds(ConfirmTaken, st.sampled_from([None, {"g0": BASE + 2}])),
    st.builds(GiveBack, st.just("s"), NUMBERS),
    st.builds(EndSubscription, st.booleans()),
    st.builds(GatewayMet, st.sampled_from(GATEWAYS)),
    st.builds(GatewayHeard, st.sampled_from(GATEWAYS), st.just(0.0)),
)
PLAYS = st.lists(st.tuples(st.integers(0, 12), EVENTS), max_size=12)
"""Events, each with the ticks that go by before it."""


def _made(together: bool, confirmed: bool) -> Subscriber:
    gateways = GATEWAYS if together else GATEWAYS[:1]
    return Subscriber(
        "sub", "x", gateways, topic("a"), settings=SETTINGS, together=together, confirmed=confirmed, durable=True
    )


def due_at(waits: Waits) -> float:
    return min(waits.asked_at + SETTINGS.resend_s, waits.taken_at + SETTINGS.beat_s, waits.left_at + SETTINGS.resend_s)


def played(
    machine: Subscriber, play: Sequence[tuple[int, Event]], due: Callable[[Waits], float] | None = None
) -> list[Said]:
    """What a machine says, with the step at which it does; ticked at every step, or where it is due or was stirred."""
    said: list[Said] = []
    step, stirred = 0, True
    for ticks, event in (*play, (20, Tick())):
        for _ in range(ticks):
            step += 1
            now = step * STEP_S
            if due is None or stirred or due(machine.waits) <= now:
                said += [(step, command) for command in machine.handle(Tick(), now)]
            stirred = False
        said += [(step, command) for command in machine.handle(event, step * STEP_S)]
        stirred = True
    return said


@settings(max_examples=CASES, deadline=None)
@given(PLAYS, st.booleans(), st.booleans())
def test_ticks_before_it_is_due_change_nothing(play: list[tuple[int, Event]], together: bool, confirmed: bool) -> None:
    always = played(_made(together, confirmed), play)
    assert played(_made(together, confirmed), play, due_at) == always


WRONG: dict[str, Callable[[Waits], float]] = {
    "what is not live is not asked for again": lambda waits: due_at(waits._replace(asked_at=float("inf"))),
    "nobody is told that the client is there": lambda waits: due_at(waits._replace(taken_at=float("inf"))),
    "a gateway that is left is told once": lambda waits: due_at(waits._replace(left_at=float("inf"))),
    "everything comes a step late": lambda waits: due_at(waits) + STEP_S,
}
LIVE = (1, Received("g0", _attached(0, BASE)))


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("together", [False, True])
def test_the_law_finds_a_subscriber_that_is_driven_wrongly(name: str, together: bool) -> None:
    plays: list[list[tuple[int, Event]]] = [[(9, GatewayMet("g9"))], [LIVE, (9, EndSubscription())], [LIVE]]
    assert any(
        played(_made(together, True), play) != played(_made(together, True), play, WRONG[name]) for play in plays
    )


def test_a_new_connection_has_everything_said_again_at_once() -> None:
    machine = _made(together=False, confirmed=True)
    machine.handle(Tick(), 1.0)
    assert machine.waits == Waits(1.0, float("inf"), float("inf"))
    machine.handle(GatewayMet("g1"), 1.0)
    assert machine.waits.asked_at == 1.0
    machine.handle(GatewayMet("g0"), 1.0)
    assert len(machine.handle(Tick(), 1.125)) == 1
    machine.handle(Received("g0", _attached(0, BASE)), 1.125)
    assert len(machine.handle(Tick(), 1.25)) == 1
    assert machine.handle(Tick(), 1.375) == []
    machine.handle(GatewayMet("g0"), 1.375)
    assert len(machine.handle(Tick(), 1.5)) == 1


def test_what_another_subscription_heard_keeps_it_at_its_gateway() -> None:
    machine = Subscriber("sub", "x", GATEWAYS, topic("a"), settings=SETTINGS)
    machine.handle(Tick(), 0.0)
    later = SETTINGS.dead_s + 1
    machine.handle(GatewayHeard("g0", later - 0.5), later)
    machine.handle(Tick(), later)
    assert machine.at == ("g0",)
    machine.handle(GatewayHeard("g0", 0.25), later)  # what is older takes nothing back
    machine.handle(Tick(), later + SETTINGS.dead_s - 0.75)
    assert machine.at == ("g0",)
    machine.handle(Tick(), later + SETTINGS.dead_s)
    assert machine.at == ("g1",)
