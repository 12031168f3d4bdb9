"""The ports of a gateway: what it asks for on behalf of its clients, and where it gets what they lack.

Sessions are the same however an overlay is run. Under plans a coordinator says when an interest is live
(``interests.InterestSet``), and what is missing is read from the sources' logs (``requests.Requests``,
``filtering_table.from_memory``). Behind a semantic router an interest is live at once and no log keeps anything
(``semnet.door``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from semcast.model.message import ProfileText
from semcast.protocol.contract import Command
from semcast.protocol.gateway.inbox import Inbox
from semcast.protocol.gateway.recent import Recent
from semcast.protocol.wire.frames import Caught, GatewayChanges, Live, Noted, Repair

if TYPE_CHECKING:
    from semcast.protocol.gateway.requests import Request
    from semcast.protocol.gateway.sessions import Session


class GatewayInterests(Protocol):
    """What a gateway asks for, so that all its clients are served; ``serial`` counts changes."""

    @property
    def serial(self) -> int: ...

    @property
    def profiles(self) -> Collection[ProfileText]:
        """What is asked for."""

    @property
    def at_once(self) -> bool:
        """Is everything live as soon as it is asked for, also after a crash?"""

    @property
    def unsettled(self) -> bool:
        """Has ``settle`` something to do?"""

    def need(self, profiles: Sequence[ProfileText]) -> None:
        """Clients need these, and did not before."""

    def complete(self) -> None:
        """All that is needed from before a crash has been said."""

    def bound(self, profile: ProfileText, max_delay_ms: float | None) -> None:
        """The delay that clients allow has changed."""

    def drop(self, profile: ProfileText) -> None:
        """No client needs it any more."""

    def settle(self) -> None:
        """Do some of what a change has left to do."""

    def confirm(self, live: Live, sender: str) -> list[ProfileText]:
        """A coordinator says that a serial is live; what became live by that."""

    def note(self, noted: Noted, sender: str) -> None:
        """A coordinator says that changes are stored."""

    def serves(self, profile: ProfileText) -> Live | None:
        """Since when all messages that match it come here, and go on coming; None where not all do."""

    def late(self, profile: ProfileText) -> float | None:
        """The delay to expect in ms, where a bound is not met."""

    def says(self, coordinators: Sequence[str], now: float) -> list[tuple[str, GatewayChanges]]:
        """What coordinators are to be told now."""


class LogRequests(Protocol):
    """A gateway's questions to logs."""

    def fetch(self, inbox: Inbox, now: float) -> list[Command]:
        """Ask for what an inbox misses, unless that was asked lately."""

    def fill(self, session: Session, source: str, wanted: tuple[ProfileText, int], now: float) -> list[Command]:
        """Ask for what a session has not been sent, unless that was asked lately."""

    def came(self, repair: Repair) -> Request | None:
        """A part of an answer came: to which question? None where nobody waits for it."""

    def finish(self, caught: Caught) -> Request | None:
        """An answer has ended: to which question? None where it is incomplete, or nobody waits for it."""


class CatchingUp(Protocol):
    """What a session is given that is behind its inbox; it may ask for more later, or be told that something is lost.

    An empty answer leaves the rest to ``LogRequests.fill``.
    """

    def __call__(self, recent: Recent, session: Session, inbox: Inbox) -> list[Command]: ...
