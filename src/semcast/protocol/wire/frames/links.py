"""What two ends of a connection tell each other before and beside everything else; drivers speak it, not machines."""

from __future__ import annotations

from semcast.protocol.wire.frames.base import Frame


class Hello(Frame, frozen=True, tag="hello"):
    """The first frame on a connection, from the end that dialled it."""

    name: str
    role: str
    """broker or client; newcomer: a process that asks for the overlay before it becomes a broker."""
    incarnation: int = 0
    address: str = ""
    """Where it can be dialled, host:port; empty: nowhere."""
    proof: bytes = b""
    """A secret between the two ends. A broker vouches for it when it is called back at its address; a client that
    comes back under its name shows the one that it showed before."""
    software: str = ""
    """The version of the program, for people."""
    features: tuple[str, ...] = ()
    """What the sender understands beyond what every program of this protocol version does."""


class Greeting(Frame, frozen=True, tag="greeting"):
    """The answer to a hello, sent again whenever the overlay has changed."""

    name: str
    role: str
    overlay: bytes
    """What this end knows of the overlay, as JSON."""
    software: str = ""
    features: tuple[str, ...] = ()


class Vouch(Frame, frozen=True, tag="vouch"):
    """Asks the party at an address: is the connection with this proof yours? The only question before a hello."""

    asker: str
    """The member that got the proof in a hello."""
    proof: bytes


class Vouched(Frame, frozen=True, tag="vouched"):
    name: str
    mine: bool


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
