"""One population: loaded, added to, published to, churned, and what is left when members are killed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from semcast.model import SemcastError
from semcast_experiments.bench.race import Say
from semcast_experiments.bench.subscriptions.figures import spread
from semcast_experiments.bench.subscriptions.overlay import COORDINATOR, GATEWAYS, SOURCE, Overlay
from semcast_experiments.bench.subscriptions.population import MATCHES, Population
from semcast_experiments.bench.subscriptions.workers import Worker

PARTS = ("load", "churn", "restarts")
_MODULES = "semcast_experiments.bench.subscriptions"
_SETTLE_S = 1.0
_DELIVERY_S = 60.0


@dataclass(frozen=True)
class Size:
    """How much is measured of each population."""

    burst: int = 1000
    """Profiles that come first, all at once."""
    singles: int = 20
    """Subscriptions on top of each stage, one at a time."""
    more_singles: int = 200
    """On top of the whole population."""
    flood_s: float = 5.0
    under_way: int = 1000
    steady_s: float = 10.0
    churn_s: float = 10.0
    """Of each half."""
    churn_hz: float = 500.0
    """Subscriptions that begin each second; as many end."""
    checked: int = 500
    """Messages that are published at the end, to see that everybody gets all of them."""


def marks(distinct: int, burst: int) -> list[int]:
    """Where stages end: the burst, then every tenth of the population."""
    first = min(burst, distinct)
    return [first, *(tenth * distinct // 10 for tenth in range(1, 11) if tenth * distinct // 10 > first)]


class Trial:
    """An overlay with its workers, while one population is measured."""

    def __init__(self, population: Population, size: Size, folder: Path, stack: ExitStack, say: Say) -> None:
        self._population, self._size, self._say = population, size, say
        self._alone = 0
        """Messages that were published on their own, and not waited for."""
        self._overlay = overlay = Overlay(folder / "overlay")
        stack.callback(overlay.stop)
        shared = {"population": asdict(population)}
        self._subscribers: list[Worker] = []
        for place, gateway in enumerate(GATEWAYS):
            at = {"url": overlay.url(gateway), "gateway": gateway, "place": place, "places": len(GATEWAYS)}
            worker = Worker(f"subscriber-{gateway}", f"{_MODULES}.subscriber", folder, **shared, **at)
            stack.callback(worker.close)
            self._subscribers.append(worker)
        self._publisher = Worker(
            "publisher", f"{_MODULES}.publisher", folder, **shared, url=overlay.url(COORDINATOR)
        )  # fmt: skip
        stack.callback(self._publisher.close)

    def run(self, parts: Sequence[str]) -> dict[str, Any]:
        """Load the population, then measure these parts; what comes back is raw."""
        self._warm_up()
        found: dict[str, Any] = {
            "distinct": self._population.distinct,
            "clients": self._population.clients,
            "subscriptions": self._population.subscriptions,
            "gateways": list(GATEWAYS),
            "load_average": round(os.getloadavg()[0], 1),
        }
        found |= self._load()
        if "churn" in parts:
            self._say(f"{self._population.subscriptions:,} subscriptions: publishing and churn")
            found["publishing"] = self._publishing()
        if "restarts" in parts:
            self._say(f"{self._population.subscriptions:,} subscriptions: members that are killed")
            self._all("received")
            found["restarts"] = self._restarts()
        found["delivered_at_the_end"] = self._checked()
        return found

    def _warm_up(self) -> None:
        """Connections are there, the first plan is in force, and code has run once."""
        self._all("single", count=3)
        self._publisher.ask("some", count=5)

    def _all(self, what: str, **about: Any) -> list[Any]:
        for worker in self._subscribers:
            worker.order(what, **about)
        return [worker.answer() for worker in self._subscribers]

    # --- the population

    def _load(self) -> dict[str, Any]:
        distinct, size = self._population.distinct, self._size
        before, epoch = self._readings(), self._epoch()
        stages = []
        for first, through in pairwise([0, *marks(distinct, size.burst)]):
            whole = through == distinct
            stages.append(self._stage(first, through, size.more_singles if whole else size.singles, whole))
        return {"before": before, "stages": stages, "plans_meanwhile": self._epoch() - epoch}

    def _stage(self, first: int, through: int, singles: int, whole: bool) -> dict[str, Any]:
        begun = time.perf_counter()
        answers = self._all("subscribe", first=first, through=through)
        seconds = time.perf_counter() - begun
        live, refused = (sum(answer[key] for answer in answers) for key in ("live", "refused"))
        self._say(f"{through:,} of {self._population.distinct:,} profiles: {live / seconds:,.0f} live per second")
        if whole:
            time.sleep(_SETTLE_S)
        return {
            "first": first,
            "through": through,
            "live": live,
            "refused": refused,
            "seconds": round(seconds, 4),
            "readings": self._readings(),
            "single_ms": self._singles(singles),
        }

    def _singles(self, count: int) -> list[float]:
        """At each gateway in turn."""
        share = -(-count // len(self._subscribers))
        return [round(ms, 2) for worker in self._subscribers for ms in worker.ask("single", count=share)["live_ms"]]

    def _readings(self) -> dict[str, Any]:
        return {name: asdict(reading) for name, reading in self._overlay.readings().items()}

    def _epoch(self) -> int:
        return int(self._overlay.status(COORDINATOR)["epoch"])

    # --- messages

    def _publishing(self) -> dict[str, Any]:
        size = self._size
        self._all("received")
        begun = time.perf_counter()
        flood = self._publisher.ask("flood", seconds=size.flood_s, under_way=size.under_way)
        delivered, _ = self._delivered(flood["sent"])
        most_hz = flood["sent"] / (time.perf_counter() - begun)
        self._say(f"at most {most_hz:,.0f} messages per second; half of it, without churn and with it")
        found: dict[str, Any] = {
            "flood": {"sent": flood["sent"], "delivered": delivered, "most_hz": round(most_hz, 1)},
            "rate_hz": round(most_hz / 2, 1),
        }
        found["calm"] = self._steady(most_hz / 2, size.steady_s, lambda: None)
        found["churn"] = self._steady(most_hz / 2, 2 * size.churn_s, self._churn)
        return found

    def _steady(self, rate_hz: float, seconds: float, meanwhile: Callable[[], Any]) -> dict[str, Any]:
        self._publisher.order("steady", seconds=seconds, rate_hz=rate_hz)
        about = meanwhile()
        published = self._publisher.answer()
        delivered, ages_ms = self._delivered(published["sent"])
        self._say(f"{published['sent']:,} messages sent, {delivered:,} delivered")
        return {
            "sent": published["sent"],
            "sent_hz": round(published["sent"] / published["seconds"], 1),
            "durable_ms": spread(published["durable_ms"]),
            "delivered": delivered,
            "expected": published["sent"] * MATCHES * self._population.clients,
            "delivered_ms": spread(ages_ms),
            **(about or {}),
        }

    def _churn(self) -> dict[str, Any]:
        each = self._size.churn_hz / len(self._subscribers)
        readings, answers = [self._readings()], []
        for _ in range(2):  # memory that one half leaves is free for the next
            answers += self._all("churn", rate_hz=each, seconds=self._size.churn_s)
            readings.append(self._readings())
        seconds = sum(answer["seconds"] for answer in answers) / len(self._subscribers)
        counts = {f"{key}_hz": round(sum(a[key] for a in answers) / seconds, 1) for key in ("begun", "ended")}
        live_ms = spread([ms for answer in answers for ms in answer["live_ms"]])
        return {**counts, "live_ms": live_ms, "readings": readings}

    def _delivered(self, sent: int) -> tuple[int, list[float]]:
        """Wait until everything that was sent has come; how many have, and their ages."""
        expected, until = sent * MATCHES * self._population.clients, time.monotonic() + _DELIVERY_S
        while sum(self._all("count")) < expected and time.monotonic() < until:
            time.sleep(0.02)
        ages = [age for answer in self._all("received") for age in answer["ages_ms"]]
        return len(ages), ages

    def _checked(self) -> dict[str, int]:
        """Publish some more: does everybody get everything, once? The message of the source's restart counts too."""
        sent = self._alone + self._publisher.ask("some", count=self._size.checked)["sent"]
        delivered, _ = self._delivered(sent)
        time.sleep(0.2)
        again = sum(self._all("count"))  # what comes twice comes later
        return {"expected": sent * MATCHES * self._population.clients, "delivered": delivered + again}

    # --- members that are killed

    def _restarts(self) -> dict[str, Any]:
        found = {}
        for role, name, works in (
            ("coordinator", COORDINATOR, self._one_more),
            ("source", SOURCE, self._one_message),
            ("gateway", GATEWAYS[0], self._all_back),
        ):
            found[role] = took = self._restart(name, works)
            ends = "works" if took["gave_up"] is None else f"given up ({took['gave_up']})"
            self._say(f"{role} killed: serves after {took['serves_s']:.2f} s, {ends} after {took['works_s']:.2f} s")
        return found

    def _restart(self, name: str, works: Callable[[], Iterator[None]]) -> dict[str, Any]:
        """Seconds from a kill until the member answers, and until what clients need it for works again.

        Where it does not work in time, that is a measurement too: the seconds until that was given up, and why.
        """
        begun = time.perf_counter()
        before = self._overlay.kill(name)
        working = works()
        next(working)
        self._overlay.serves_again(name, before)
        serves_s, gave_up = time.perf_counter() - begun, None
        try:
            next(working, None)
        except SemcastError as error:
            gave_up = str(error)
        works_s = time.perf_counter() - begun
        return {"serves_s": round(serves_s, 3), "works_s": round(works_s, 3), "gave_up": gave_up}

    def _one_more(self) -> Iterator[None]:
        """A subscription goes live that was asked for while nobody was there to decide on it."""
        self._subscribers[1].order("single", count=1, pause_s=0)
        yield
        self._subscribers[1].answer()

    def _one_message(self) -> Iterator[None]:
        """A message is durable that was published while its source was away, and one more subscription is live."""
        self._publisher.order("some", count=1)
        self._alone += 1
        self._subscribers[1].order("single", count=1, pause_s=0)
        yield
        self._publisher.answer()
        self._subscribers[1].answer()

    def _all_back(self) -> Iterator[None]:
        """All clients of the gateway are live there again."""
        own = len(self._population.numbers(0, self._population.distinct, 0, len(GATEWAYS)))
        wanted, until = own * self._population.clients, time.monotonic() + 2 * _DELIVERY_S
        yield
        while self._overlay.status(GATEWAYS[0])["gateway"]["live"] < wanted:
            if time.monotonic() > until:
                raise SemcastError(f"{GATEWAYS[0]}: its clients do not come back")
            time.sleep(0.1)


def measured(
    populations: Sequence[Population], size: Size, parts: Sequence[str], folder: Path, say: Say
) -> Iterator[dict[str, Any]]:
    """Each population in an overlay of its own, one after the other."""
    for number, population in enumerate(populations):
        say(f"{population.subscriptions:,} subscriptions: starting an overlay and its clients")
        with ExitStack() as stack:
            home = folder / f"trial-{number}"
            home.mkdir()
            yield Trial(population, size, home, stack, say).run(parts)
