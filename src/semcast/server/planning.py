"""Where a coordinator's plans are made: beside its event loop, or by somebody who has offered to make them.

Reorganisations go to who offered (Spark's drivers do), all other plans are made here, since subscriptions wait for
them. Whatever becomes of an order elsewhere, it ends in a plan: who goes, fails, answers with what is no such plan, or
does not answer in time is made up for here.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from semcast.protocol.contract import Event, PlanMade
from semcast.protocol.coordinator.commissions import Commission, Found, accepted, by_statistics
from semcast.protocol.coordinator.orders import Made, Order
from semcast.protocol.wire.frames import AnyFrame, FoundPlan, OrderPlan
from semcast.protocol.wire.framing import FrameError

HERE = "here"


class Listener(Protocol):
    """The coordinator's host, which is told from its event loop."""

    def say(self, to: str, frame: AnyFrame) -> int: ...

    def feed(self, event: Event) -> None: ...

    def fail(self, error: BaseException) -> None: ...

    def happened(self, what: str, details: dict[str, Any]) -> None: ...


class Planning:
    """The order that is being made, and who could make it. All but its threads is on the event loop."""

    def __init__(self, host: Listener, patience_s: float) -> None:
        self.offers: dict[str, str] = {}
        """Who offered to make plans → on what; in the order in which they came."""
        self.planned_s = 0.0
        """How long the last plan took."""
        self.planned_by = ""
        self._host = host
        self._patience_s = patience_s
        self._loop = asyncio.get_running_loop()
        self._order: Order | None = None
        self._begun = 0.0
        self._body = b""
        self._at = self._asked = HERE
        """Who has the order, and who had it last."""
        self._tried: set[str] = set()
        self._timer: asyncio.TimerHandle | None = None

    # --- who is there

    def offered(self, name: str, where: str) -> None:
        if name not in self.offers:
            self._host.happened("planner is here", {"planner": name, "where": where})
        self.offers[name] = where

    def lost(self, name: str) -> None:
        if self.offers.pop(name, None) is None:
            return
        self._host.happened("planner is gone", {"planner": name})
        if self._order is not None and self._at == name:
            self._hand()

    # --- orders

    def make(self, order: Order) -> None:
        """Have a plan made; one that is still being made elsewhere is not waited for any more."""
        self._let_go()
        self._order, self._begun, self._tried = order, time.monotonic(), set()
        if not self.offers or not by_statistics(order):
            self._make_here()
            return
        self._timer = self._loop.call_later(self._patience_s, self._too_late)
        self._beside(lambda: Commission.of(order).packed(), self._packed)

    def _packed(self, body: bytes) -> None:
        self._body = body
        self._hand()

    def _hand(self) -> None:
        """Give the order to the next who has not had it; when there is none, make the plan here."""
        order, to = self._order, next((name for name in self.offers if name not in self._tried), None)
        assert order is not None
        if to is None:
            self._make_here()
            return
        self._at = self._asked = to
        self._tried.add(to)
        try:
            self._host.say(to, OrderPlan(order.number, self._body))
        except FrameError as error:
            self._give_up(f"the order cannot be sent: {error}")

    def found(self, name: str, frame: FoundPlan) -> None:
        """Somebody answers; what was not asked of him, or is not waited for any more, is nothing."""
        order = self._order
        if order is None or name != self._at or frame.number != order.number:
            return
        if frame.error:
            self._host.happened("planner failed", {"planner": name, "reason": frame.error})
            self._hand()
            return
        self._at = HERE  # a second answer is none
        self._beside(lambda: accepted(order, Found.unpacked(frame.plan)), lambda made: self._done(made, name))

    def _too_late(self) -> None:
        if self._at != HERE:
            self._give_up(f"no plan within {self._patience_s:g} s")

    def _give_up(self, reason: str) -> None:
        self._host.happened("planner failed", {"planner": self._asked, "reason": reason})
        self._make_here()

    # --- making

    def _make_here(self) -> None:
        order = self._order
        assert order is not None
        self._at = HERE
        self._beside(order.made, lambda made: self._done(made, HERE), here=True)

    def _done(self, made: Made, by: str) -> None:
        order = self._order
        assert order is not None
        self._let_go()
        self.planned_s, self.planned_by = time.monotonic() - self._begun, by
        if by != HERE:
            self._host.happened("planned elsewhere", {"planner": by, "epoch": order.epoch})
        self._host.feed(PlanMade(order.number, made))

    def _let_go(self) -> None:
        self._order, self._at, self._body = None, HERE, b""
        if self._timer is not None:
            self._timer.cancel()

    def _beside(self, work: Callable[[], Any], then: Callable[[Any], None], *, here: bool = False) -> None:
        """Do what takes long in a thread of its own: meanwhile the lead is kept, and everybody is heard.

        Where it fails, and was not for a plan that is made here, the plan is made here.
        """
        order = self._order

        def failed(error: Exception) -> None:
            if here:
                self._host.fail(error)
            elif self._order is order:
                self._give_up(f"{type(error).__name__}: {error}")

        def done(found: Any) -> None:
            if self._order is order:
                then(found)

        def run() -> None:
            try:
                found = work()
            except Exception as error:
                self._tell_loop(failed, error)
            else:
                self._tell_loop(done, found)

        # Not of a pool: those are waited for at exit, however long a plan takes that nobody wants any more.
        threading.Thread(target=run, name="semcast-plan", daemon=True).start()

    def _tell_loop(self, call: Callable[[Any], None], about: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for it any more
            self._loop.call_soon_threadsafe(call, about)
