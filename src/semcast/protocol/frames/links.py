"""What two ends of a connection tell each other before and beside everything else; drivers speak it, not machines."""

from __future__ import annotations

from semcast.protocol.frames.base import Frame


class Hello(Frame, frozen=True, tag="hello"):
    """The first frame of whoever dials. A name that says hello again is the same party; its older connection ends."""

    name: str
    role: str
    """broker, coordinator or client."""
    incarnation: int = 0
    address: str = ""
    """Where it can be dialled, host:port; empty: nowhere."""


class Greeting(Frame, frozen=True, tag="greeting"):
    """The answer to a hello, and said again whenever the overlay has changed."""

    name: str
    role: str
    overlay: bytes
    """What this end knows of the overlay, as JSON."""


class Ping(Frame, frozen=True, tag="ping"):
    """Asks how long a frame takes and what the other clock says."""

    sent_at: float
    """On the clock of who asks, in seconds since 1970."""


class Pong(Frame, frozen=True, tag="pong"):
    sent_at: float
    """As the ping had it."""
    at: float
    """The clock of who answers."""


class Ask(Frame, frozen=True, tag="ask"):
    """A question to a process rather than to a machine: its status, or an operator's wish."""

    request: int
    what: str


class Answer(Frame, frozen=True, tag="answer"):
    request: int
    body: bytes
    """JSON."""
    error: str = ""


class Counters(Frame, frozen=True, tag="counters"):
    """A broker's counters, for the coordinator's overview."""

    broker: str
    body: bytes
    """JSON."""


class OfferPlans(Frame, frozen=True, tag="offer-plans"):
    """Somebody would make a coordinator's plans; it holds as long as the connection."""

    where: str = ""
    """For people: on what they are made."""


class OrderPlan(Frame, frozen=True, tag="order-plan"):
    """A coordinator orders a plan from who offered to make some."""

    number: int
    order: bytes
    """A packed Commission."""


class FoundPlan(Frame, frozen=True, tag="found-plan"):
    """The plan that was ordered, or why there is none."""

    number: int
    """The order's."""
    plan: bytes
    """A packed Found."""
    error: str = ""
