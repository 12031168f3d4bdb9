"""Whatever a frame holds: it is taken from senders that it can come from, and from nobody else."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from semcast.protocol.wire.codec import decode, encode, view
from semcast.protocol.wire.frames import AnyFrame, Data, Leg
from semcast.protocol.wire.framing import FrameError
from semcast.protocol.wire.senders import AT_BROKER, AT_COORDINATOR, Sender, objection
from tests.cases import CASES
from tests.laws.frame_worlds import SPECIAL, values

KINDS = [kind for kind in get_args(AnyFrame) if "emantic" not in kind.__module__]
# Written down by hand, from what machines send: whom a broker may hear a frame from.
NEIGHBOURS = {"Data", "Leg", "Tally"}
BROKERS = {"Ack", "Fetch", "Fill", "Repair", "Caught", "Publish", "Published", "Refused"}
COORDINATORS = {"Install", "Switch", "Lease", "Live", "Noted", "RosterChanges", "RosterPiece", "AskSamples", "Welcome"}
CLIENTS = {"Ask", "Attach", "AttachMany", "Taken", "TakenMany", "Detach", "Publish", "Append", "Ingested"}
ANYBODY = {"Beat", "ProtocolError"}
OWN = {
    "gateway": ("Fetch", "Fill", "GatewayChanges"),
    "source": ("Repair", "Caught", "Switched", "Samples", "RosterFollowed", "PieceTaken"),
    "broker": ("Heartbeat", "Installed", "Counters"),
}


def expected(name: str, sender: Sender) -> bool:
    by = {
        Sender.NEIGHBOUR: NEIGHBOURS | BROKERS,
        Sender.BROKER: BROKERS,
        Sender.COORDINATOR: COORDINATORS,
        Sender.CLIENT: CLIENTS,
    }
    return name in by[sender] | ANYBODY


@st.composite
def frames(draw: st.DrawFn) -> Any:
    kind = draw(st.sampled_from(KINDS))
    return draw(SPECIAL[kind]() if kind in SPECIAL else values(kind))


@settings(max_examples=CASES)
@given(frames(), st.sampled_from(Sender), st.booleans(), st.booleans())
def test_a_broker_takes_a_frame_from_whom_it_can_come(frame: Any, sender: Sender, own: bool, raw: bool) -> None:
    name = type(frame).__name__
    about = next((field for field, kinds in OWN.items() if name in kinds), None)
    if about is not None and own:
        frame = msgspec.structs.replace(frame, **{about: "me"})
    allowed = expected(name, sender) and (about is None or getattr(frame, about) == "me")
    seen = frame
    if raw:
        try:
            seen = view(encode(frame)) if isinstance(frame, Data | Leg) else decode(encode(frame))
        except FrameError:
            return
    assert (objection(seen, "me", sender, AT_BROKER) is None) == allowed


@settings(max_examples=CASES // 2)
@given(frames(), st.booleans())
def test_a_coordinator_hears_of_brokers_from_themselves(frame: Any, own: bool) -> None:
    name = type(frame).__name__
    about = next((field for field, kinds in OWN.items() if name in kinds), None)
    if about is not None and own:
        frame = msgspec.structs.replace(frame, **{about: "me"})
    reports = {
        "Heartbeat",
        "Installed",
        "Switched",
        "GatewayChanges",
        "RosterFollowed",
        "PieceTaken",
        "Samples",
        "Counters",
    }
    allowed = name in reports and about is not None and getattr(frame, about) == "me"
    assert (objection(frame, "me", Sender.BROKER, AT_COORDINATOR) is None) == (allowed or name in ANYBODY)
    asks = {"Ask", "OfferPlans", "FoundPlan"} | ANYBODY
    assert (objection(frame, "me", Sender.CLIENT, AT_COORDINATOR) is None) == (name in asks)
