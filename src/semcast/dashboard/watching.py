"""Looking at a running overlay, once a second, through what its members say of themselves.

The coordinator that leads is asked for nearly everything; sources and gateways for what only they know. Who does not
answer keeps his last word. If nobody answers, the last snapshot stays, with the reason why there is no newer one.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable
from typing import Any

from semcast.client.overlay import addresses_of
from semcast.dashboard.asking import Asking, NoAnswer
from semcast.dashboard.comparison import Comparison, compare
from semcast.dashboard.rates import Counter, History, Rates
from semcast.dashboard.routers import completed
from semcast.dashboard.snapshot import Json, Snapshot
from semcast.model import SemcastError

_EVERY_S = 1.0
_SAMPLES_S = 5.0
"""Between questions for samples, and comparisons made from them."""
_TOTALS = ("published", "transmissions", "delivered", "bytes")


class Watcher:
    """The latest snapshot of an overlay, rates since the one before, and what they were for half an hour."""

    def __init__(self, url: str | None, *, every_s: float = _EVERY_S, samples_s: float = _SAMPLES_S) -> None:
        self._addresses = addresses_of(url)
        self._every_s, self._samples_s = every_s, samples_s
        self._asking = Asking()
        self._compared_at = float("-inf")
        self._comparing: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Condition()
        self.snapshot: Snapshot | None = None
        self.trouble: str | None = "the overlay has not been asked yet"
        """Why the snapshot is not of now; None where it is."""
        self.revision = 0
        self.rates = Rates()
        self.history = History()
        self.comparison: Comparison | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        tasks = [task for task in (self._task, self._comparing) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._tell()

    async def newer(self, than: int) -> int:
        """Wait for a revision after one."""
        async with self._news:
            await self._news.wait_for(lambda: self.revision > than)
        return self.revision

    async def _run(self) -> None:
        while True:
            begun = time.monotonic()
            try:
                self._take(await self._look())
                self.trouble = None
            except SemcastError as error:
                self.trouble = str(error)
            await self._tell()
            await asyncio.sleep(max(0.1, self._every_s - (time.monotonic() - begun)))

    async def _tell(self) -> None:
        async with self._news:
            self.revision += 1
            self._news.notify_all()

    # --- asking

    async def _look(self) -> Snapshot:
        before = self.snapshot
        address, status = await self._leader()
        get = self._asking.get
        changed = before is None or _version(before.status) != _version(status)
        overlay, events = await asyncio.gather(get(address, "/overlayz"), get(address, "/eventz"))
        if before is None or (changed and not before.routers):
            plan, wanted = await asyncio.gather(get(address, "/planz"), get(address, "/subz"))
            wanted = wanted["subscriptions"]
        else:
            plan, wanted = before.plan, before.wanted
        found = Snapshot(time.time(), overlay, status, plan, wanted, events["events"])
        found.channels.update(before.channels if before is not None else {})
        found.sessions.update(before.sessions if before is not None else {})
        found.samples.update(before.samples if before is not None else {})
        return await self._ask_brokers(found)

    async def _leader(self) -> tuple[str, Json]:
        """The coordinator that leads, and its status; else one that answers, which is the case while they change."""
        known = list(self.snapshot.overlay["coordinators"].values()) if self.snapshot is not None else []
        answering: tuple[str, Json] | None = None
        reasons: list[str] = []
        for address in [*known, *(other for other in self._addresses if other not in known)]:
            try:
                status = await self._asking.get(address, "/statusz")
                if status["role"] != "coordinator":
                    known_there = (await self._asking.get(address, "/overlayz"))["coordinators"].values()
                    address, status = await self._first(known_there)
                if status["leads"]:
                    return address, status
                answering = answering or (address, status)
            except NoAnswer as error:
                reasons.append(str(error))
        if answering is None:
            raise NoAnswer("; ".join(dict.fromkeys(reasons)))
        return answering

    async def _first(self, addresses: Iterable[str]) -> tuple[str, Json]:
        answering: tuple[str, Json] | None = None
        reason: NoAnswer | None = None
        for address in addresses:
            try:
                status = await self._asking.get(address, "/statusz")
            except NoAnswer as error:
                reason = error
                continue
            if status["leads"]:
                return address, status
            answering = answering or (address, status)
        if answering is None:
            raise reason or NoAnswer("the broker there knows no coordinator")
        return answering

    async def _ask_brokers(self, found: Snapshot) -> Snapshot:
        sources, gateways = found.having("source"), found.having("gateway")
        questions = [
            self._put(found, name, "/channelz", found.channels) for name in dict.fromkeys([*sources, *gateways])
        ]
        questions += [self._put(found, name, "/subz", found.sessions, "sessions") for name in gateways]
        due = found.at - self._compared_at >= self._samples_s
        if due:
            self._compared_at = found.at
            questions += [self._put(found, name, "/samplez", found.samples) for name in sources]
        await asyncio.gather(*questions)
        for gone in found.sessions.keys() - set(gateways):
            del found.sessions[gone]  # nobody is served there now
        if due and found.routers:
            found = await asyncio.to_thread(completed, found)
        if due and (self._comparing is None or self._comparing.done()):
            self._comparing = asyncio.create_task(self._compare(found))
        return found

    async def _put(
        self, found: Snapshot, broker: str, path: str, where: dict[str, Any], part: str | None = None
    ) -> None:
        address = found.address(broker)
        if address is not None:
            with contextlib.suppress(NoAnswer):  # its last word stays
                told = await self._asking.get(address, path)
                where[broker] = told[part] if part is not None else told

    async def ask(self, broker: str, path: str) -> Any:
        """One broker's own word; NoAnswer where there is none."""
        address = self.snapshot.address(broker) if self.snapshot is not None else None
        if address is None:
            raise NoAnswer(f"nobody knows where {broker} is")
        return await self._asking.get(address, path)

    # --- what follows from it

    async def _compare(self, found: Snapshot) -> None:
        plan = found.planned
        if plan is None:
            self.comparison = None
            return
        down = {name for name, broker in found.brokers.items() if not broker["up"]}
        matched = {source: told["matched"] for source, told in found.samples.items()}
        with contextlib.suppress(SemcastError):
            made = await asyncio.to_thread(compare, plan, found.topology, down, matched)
            if made is not None:
                self.comparison = made

    def _take(self, found: Snapshot) -> None:
        counters = counters_of(found)
        self.rates.take(found.at, counters)
        if self.snapshot is not None:  # a rate needs two
            self.history.add(self._point(found))
        self.snapshot = found

    def _point(self, found: Snapshot) -> dict[str, Any]:
        published = self.rates.growth("published")
        compared = self.comparison.costs if self.comparison is not None else {}
        return {
            "at": found.at,
            "epoch": found.status["epoch"],
            "measured": self.rates.growth("transmissions") / published if published >= 1 else None,
            **{f"{name}_s": self.rates.per_second(name) for name in _TOTALS},
            **{name: compared.get(name) for name in ("plan", "spt", "unicast", "oracle")},
        }


def _version(status: Json) -> tuple[Any, ...]:
    return status["name"], status["term"], status["epoch"], status["subscriptions"]


def counters_of(found: Snapshot) -> dict[Counter, float]:
    """All that is turned into rates, as (kind, name)."""
    counters: dict[Counter, float] = {}
    for name, broker in found.brokers.items():
        for neighbour, link in broker.get("links", {}).items():
            counters["transmissions", f"{name}>{neighbour}"] = link["messages_out"]
            counters["bytes", f"{name}>{neighbour}"] = link["data_bytes_out"]
        if "source" in broker:
            counters["published", name] = broker["source"]["end"]
    for held in found.sessions.values():
        for session in held:
            counters["delivered", session["session"]] = session["delivered"]["messages"]
    for name, told in found.channels.items():
        for channel, sent in told.get("sent", {}).items():
            counters[f"channel {channel}", name] = sent["messages"]
    return counters
