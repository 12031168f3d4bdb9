"""How long the page's script takes for a step of a pan or zoom, and until it is first painted, on a large overlay.

    python tools/page_speed.py [BROKERS [CHANNELS]]

The plan is a real one of so many masked channels; only the brokers behind it are not there. Needs Chromium.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
from semcast.channels.selectivity import Selectivity
from semcast.dashboard.comparison import compare
from semcast.dashboard.pipeline import Progress
from semcast.dashboard.server import Dashboard
from semcast.dashboard.snapshot import Snapshot
from semcast.dashboard.watching import Watcher
from semcast.matching.matches import Matches
from semcast.planning.build import Request, make_plan
from semcast.planning.subscriptions import Subscriptions
from semcast.trees.generators import generate
from tests.live.http.browser import Page, browsing

_STEPS = 120
_PAN = """new Promise(done => {{
  const graph = document.querySelector('canvas').graph; let left = {steps}; graph.spent.length = 0;
  const step = () => {{
    if (!left--) return done(graph.spent);
    left % 2 ? graph.pan(3, 2) : graph.zoom(left % 4 ? 1.02 : 1 / 1.02);
    requestAnimationFrame(() => requestAnimationFrame(step));
  }};
  step();
}})"""


def snapshot(brokers: int, channels: int) -> tuple[Snapshot, Any]:
    rng = np.random.default_rng(1)
    topology = generate("waxman", brokers, rng, sources=1)
    gateways = topology.ids(topology.gateways)
    source = next(broker.id for broker in topology.brokers if "source" in broker.roles)
    wanted = {f"p{n}": tuple(rng.choice(gateways, 3, replace=False).tolist()) for n in range(200)}
    rows = [sorted(set(rng.integers(0, 200, 12).tolist())) for _ in range(400)]
    indptr = np.concatenate(([0], np.cumsum([len(row) for row in rows]))).astype(np.int64)
    matches = Matches(indptr, np.array([n for row in rows for n in row], np.int32))
    subscriptions = Subscriptions.of(gateways, wanted, {name: name for name in wanted})
    request = Request(topology, source, subscriptions, Selectivity.of(matches, 200), channels=channels)
    plan = make_plan("masked", request)
    links: dict[str, dict[str, Any]] = {broker.id: {} for broker in topology.brokers}
    for link in topology.links:
        for a, b in ((link.a, link.b), (link.b, link.a)):
            counts = {"messages_out": int(rng.integers(1000)), "data_bytes_out": 0, "waiting_bytes": 0}
            links[a][b] = {"up": True, "rtt_ms": 1.0, **counts}
    told = {
        broker.id: {"up": True, "roles": list(broker.roles), "heard_s": 0.1, "links": links[broker.id]}
        for broker in topology.brokers
    }
    status = {"name": "c0", "leads": True, "term": 1, "epoch": plan.epoch, "phase": "settled", "brokers": told}
    status |= {"channels": len(plan.channels), "subscriptions": len(wanted)}
    overlay = {"name": f"{brokers} brokers", "scheme": "masked", "streams": {}, "coordinators": {}, "members": {}}
    overlay["topology"] = msgspec.json.decode(topology.to_json())
    matched = [[f"p{n}" for n in row] for row in rows]
    compared = compare(plan, topology, set(), {source: matched})
    return Snapshot(time.time(), overlay, status, msgspec.to_builtins(plan), []), compared


class Still(Watcher):
    """Always the same overlay, told anew every second."""

    def __init__(self, found: Snapshot, compared: Any) -> None:
        super().__init__("127.0.0.1:9")
        self._found = found
        self.comparison = compared

    async def _look(self) -> Snapshot:
        return self._found


def measured(page: Page, address: str) -> None:
    page.open(f"http://{address}/")
    page.look(1280, 900)
    page.until("document.querySelectorAll('[data-channel]').length > 1")
    paint = page.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    lit = "document.querySelectorAll('[data-channel]')[1].click()"
    for what, before in (("all channels", "0"), ("one lit", lit)):
        page.run(before)
        spent = sorted(page.run(_PAN.format(steps=_STEPS)))
        worst = f"p95 {spent[int(0.95 * len(spent))]:.1f} ms, worst {spent[-1]:.1f} ms"
        print(f"{what}: {statistics.median(spent):.1f} ms of script per step, {worst} ({len(spent)} steps)")
    page.screenshot(Path("build/screenshots/large-1280-light.png"))
    print(f"first paint after {paint:.0f} ms; troubles: {page.troubles}")


async def served(found: Snapshot, compared: Any, ready: Any, end: threading.Event) -> None:
    dashboard = Dashboard(Still(found, compared), None, Progress(None))
    await dashboard.start("127.0.0.1", 0)
    ready(dashboard.address)
    while not end.is_set():
        await asyncio.sleep(0.1)
    await dashboard.stop()


def main() -> None:
    brokers, channels = (int(given) for given in (*sys.argv[1:3], *("600", "64")[len(sys.argv) - 1 :]))
    found, compared = snapshot(brokers, channels)
    print(f"{brokers} brokers, {len(found.topology.links)} links, {found.status['channels']} channels")
    end, address, there = threading.Event(), [], threading.Event()
    ready = lambda given: (address.append(given), there.set())  # noqa: E731
    thread = threading.Thread(target=lambda: asyncio.run(served(found, compared, ready, end)))
    thread.start()
    there.wait()
    try:
        with tempfile.TemporaryDirectory() as folder, browsing("chromium", Path(folder)) as page:
            measured(page, address[0])
    finally:
        end.set()
        thread.join()


if __name__ == "__main__":
    main()
