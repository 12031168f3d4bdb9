"""A party without a network: its gateways are in the test's hands."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any

from semcast.client.party import Party
from semcast.client.subscription import Subscription
from semcast.model.message import ProfileText
from semcast.protocol.settings import Settings
from semcast.protocol.streams import Streams
from semcast.protocol.wire.frames import (
    AnyFrame,
    Attach,
    Attached,
    AttachMany,
    Beat,
    Detach,
    Detached,
    ProtocolError,
    Taken,
    TakenMany,
)

QUICK = Settings(tick_s=0.01, beat_s=0.05, dead_s=0.25, resend_s=0.06)


class Gateways(Party):
    """A party with gateways in its hands: what it says is noted, and answered by those that are up."""

    def __init__(self, many: bool | None = True, settings: Settings = QUICK) -> None:
        super().__init__()
        self.name, self.settings, self.streams, self.running = "me", settings, Streams(), True
        self.many = many
        self.up = {"g", "h"}
        self.said: list[tuple[str, AnyFrame]] = []
        self.known: dict[str, set[str]] = {"g": set(), "h": set()}

    def say(self, to: str, frame: AnyFrame) -> int:
        self.said.append((to, frame))
        if to in self.up and self.many is not None:
            asyncio.get_running_loop().call_soon(self._answer, to, frame)
        return 1

    def _answer(self, gateway: str, frame: AnyFrame) -> None:
        known = self.known[gateway]
        for one in each(frame):
            if isinstance(one, Attach):
                known.add(one.session)
                self.dispatch(gateway, Attached(one.session, 0, (("b0", 0),), 100, None, (("b0", 0),)))
            elif isinstance(one, Taken) and one.session not in known:
                self.dispatch(gateway, ProtocolError("not known", one.session, unknown=True))
            elif isinstance(one, Detach):
                known.discard(one.session)
                self.dispatch(gateway, Detached(one.session))
        self.dispatch(gateway, Beat(0.0))

    def takes_many(self, gateway: str) -> bool | None:
        return self.many

    def overlay_time(self) -> tuple[float, float]:
        return 0.0, 0.0

    def gateways(self) -> list[str]:
        return ["g", "h"]

    def begin(self, count: int) -> list[Subscription]:
        return [self.subscribe("s", ProfileText("s", "topic", f"t{number}")) for number in range(count)]

    def taken(self, gateway: str = "g") -> Counter[str]:
        """How often each session was spoken of at a gateway since the last look."""
        found = Counter(
            one.session for to, frame in self.said if to == gateway for one in each(frame) if isinstance(one, Taken)
        )
        self.said.clear()
        return found


def each(frame: AnyFrame) -> tuple[AnyFrame, ...]:
    if isinstance(frame, AttachMany):
        return frame.attaches
    return frame.taken if isinstance(frame, TakenMany) else (frame,)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 30))
