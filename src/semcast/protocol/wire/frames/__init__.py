"""Everything that travels between brokers, coordinators and clients.

Brokers, sources, gateways and coordinators go by their ids. A *position* is the number of a message in its
source's log; "through n" includes n. ``term`` fences: a frame of an older term than its receiver has
seen is ignored. A tree is known by its *key*: the channel and the version of its tree.
"""

from __future__ import annotations

from semcast.protocol.wire.frames.base import Frame, Key
from semcast.protocol.wire.frames.clients import (
    Append,
    Attach,
    Attached,
    AttachMany,
    Deliver,
    Detach,
    Detached,
    Gap,
    Ingested,
    Progress,
    ProtocolError,
    Publish,
    Published,
    Refused,
    Taken,
    TakenMany,
)
from semcast.protocol.wire.frames.control import (
    AskSamples,
    Beat,
    Entry,
    Heartbeat,
    Install,
    Installed,
    Lease,
    PlannedTree,
    Samples,
    Switch,
    Switched,
    TreeLink,
    Welcome,
)
from semcast.protocol.wire.frames.links import (
    Answer,
    Ask,
    Counters,
    FoundPlan,
    Greeting,
    Hello,
    OfferPlans,
    OrderPlan,
    Ping,
    Pong,
    Vouch,
    Vouched,
)
from semcast.protocol.wire.frames.roster import (
    GatewayChanges,
    Live,
    Noted,
    PieceTaken,
    RosterChange,
    RosterChanges,
    RosterFollowed,
    RosterPiece,
    Wish,
)
from semcast.protocol.wire.frames.semantic import SemanticFrame
from semcast.protocol.wire.frames.trees import Ack, Caught, Data, Fetch, Fill, Leg, Repair, Tally

AnyFrame = (
    Data | Leg | Tally | Ack | Fetch | Fill | Repair | Caught | Beat | Heartbeat | Lease | Welcome | Install
    | Installed | Switch | Switched | GatewayChanges | Noted | Live | RosterChanges | RosterPiece | RosterFollowed
    | PieceTaken | AskSamples | Samples | Publish | Published | Refused | Attach | Attached | Append | Deliver
    | Progress | Gap | Taken | Detach | Detached | ProtocolError | Hello | Greeting | Ping | Pong | Ask | Answer
    | Counters | Ingested | OfferPlans | OrderPlan | FoundPlan | Vouch | Vouched | AttachMany | TakenMany
    | SemanticFrame
)  # fmt: skip

__all__ = [
    "Ack",
    "Answer",
    "AnyFrame",
    "Append",
    "Ask",
    "AskSamples",
    "Attach",
    "AttachMany",
    "Attached",
    "Beat",
    "Caught",
    "Counters",
    "Data",
    "Deliver",
    "Detach",
    "Detached",
    "Entry",
    "Fetch",
    "Fill",
    "FoundPlan",
    "Frame",
    "Gap",
    "GatewayChanges",
    "Greeting",
    "Heartbeat",
    "Hello",
    "Ingested",
    "Install",
    "Installed",
    "Key",
    "Lease",
    "Leg",
    "Live",
    "Noted",
    "OfferPlans",
    "OrderPlan",
    "PieceTaken",
    "Ping",
    "PlannedTree",
    "Pong",
    "Progress",
    "ProtocolError",
    "Publish",
    "Published",
    "Refused",
    "Repair",
    "RosterChange",
    "RosterChanges",
    "RosterFollowed",
    "RosterPiece",
    "Samples",
    "Switch",
    "Switched",
    "Taken",
    "TakenMany",
    "Tally",
    "TreeLink",
    "Vouch",
    "Vouched",
    "Welcome",
    "Wish",
]  # fmt: skip
