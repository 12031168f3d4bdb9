"""The port at which brokers carry messages to each other: all that a node leaves to the way its overlay is run.

A ``Node`` knows publishers, clients, terms and time. Its *carrier* knows the other brokers. There are two:
``broker.tree_carrier.TreeCarrier`` forwards along the trees of a plan, and ``semnet.carrier.RouterCarrier`` has a
router that decides at every hop.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from semcast.protocol.contract import Command
from semcast.protocol.wire.frames import (
    AskSamples,
    Data,
    Install,
    Lease,
    Live,
    Noted,
    RosterChanges,
    RosterPiece,
    Switch,
    Welcome,
)

if TYPE_CHECKING:
    from semcast.protocol.semnet.router import SemanticRouter
    from semcast.protocol.source.outlet import Outgoing

CoordinatorWord = Install | Switch | Lease | Noted | Live | RosterChanges | RosterPiece | AskSamples | Welcome
"""What coordinators say to brokers, each under a term."""


class Carrier(Protocol):
    """How one broker carries messages. It gives what arrives here to the gateway here, if there is one."""

    @property
    def router(self) -> SemanticRouter | None:
        """The router that decides, for whoever wants to see its filters; None where plans decide."""

    def received(self, sender: str, frame: object, now: float) -> list[Command] | None:
        """Handle a frame by which brokers carry and repair messages; None: it is of another kind."""

    def told(self, sender: str, word: CoordinatorWord, now: float) -> list[Command]:
        """Obey a coordinator. The node has seen to it that the word is of the newest term."""

    def arrived(self, frames: Iterable[Data]) -> list[Command]:
        """Give messages to the gateway here that came in bytes, past ``received``."""

    def inject(self, frames: Iterable[Outgoing], now: float) -> list[Command]:
        """Send what begins at the source here."""

    def injected(self, now: float) -> list[Command]:
        """All that is durable so far was injected: the gateway here need not wait for word of it."""

    def acknowledge(self) -> list[Command]:
        """Tell others how far messages have arrived here; called every ``Settings.ack_s``."""

    def tick(self, now: float) -> list[Command]:
        """Do what time asks for; called last in every tick."""

    def proceed(self, now: float) -> list[Command]:
        """Go on with what one turn had no time for."""

    def conclude(self, now: float) -> list[Command]:
        """Tell others what an event has changed here; called when the event is done."""
