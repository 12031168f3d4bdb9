"""Topics paper, Figure 3: how long a message takes from producer to consumer over one broker, by its size.

The set-up is the paper's: one producer, one consumer, one broker, one subscription of one attribute; sockets are real
and all parties share one process, so that they share a clock. What differs: our broker has a message on disk before
it passes it on.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

from semcast.client import Client, Subscription
from semcast.model.palette import BLUE, GREY, SKY
from semcast.server.config import read_config
from semcast.server.embedded import Embedded
from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.lines import Style, curve, means, name_ends, result
from semcast_experiments.figures.output import dress, figure
from semcast_experiments.figures.trials import Run

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
_SAMPLES = 10
_PATIENCE_S = 60.0
_PAPER = {10_000: 1.0, 1_000_000: 20.0}
"""Bytes → milliseconds, as the text has them."""
_CONFIG = """
name = "streaming"
scheme = "masked"
channels = 1
data = "data"
[topology]
brokers = 1
sources = 1
gateways = 1
[streams.s]
language = "topic"
[settings]
dead_s = 30
lease_s = 20
leader_s = 20
"""


class Deployment(NamedTuple):
    """One broker, set up anew, and how many messages of each size go through it."""

    sizes: tuple[int, ...]
    samples: int
    seed: int


class Sample(NamedTuple):
    """One message: its payload, how long its consumer waited for it, and the CPU time of all three parties."""

    payload_bytes: int
    delivered_ms: float
    cpu_ms: float


def streaming(run: Run) -> dict[str, Any]:
    cases = [Deployment(SIZES, 4 if run.quick else _SAMPLES, seed) for seed in run.seeds(5, 3)]
    rows = run.trials("streaming", samples, Sample, cases, alone=True)
    note = [
        "One producer, one broker and one consumer within this process, over sockets of the loopback device; every "
        "message is on disk before it is passed on. Wall-clock times, of a machine that others may use; "
        f"{len(rows) // len(SIZES)} messages of each size, over {len(cases)} deployments."
    ]
    return result(run, "topics-streaming", rows, _drawn(rows), claims(rows), note)


def samples(case: Deployment) -> list[Sample]:
    """Messages one after the other, so many of each size, after one of each that does not count."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measured(Path(folder), case.sizes, case.samples))


async def _measured(folder: Path, sizes: tuple[int, ...], count: int) -> list[Sample]:
    file = folder / "up.toml"
    file.write_text(_CONFIG)
    whole = Embedded(read_config(file))
    await whole.start()
    try:
        (broker,) = whole.brokers
        await _planned(whole)
        async with Client(f"semcast://{whole.addresses()[broker]}") as client:
            consumer = client.subscribe("s", "A")
            await consumer.live()
            found: list[Sample] = []
            for size in sizes:
                found += [await _sample(client, consumer, size) for _ in range(count + 1)][1:]
            await consumer.close()
            return found
    finally:
        await whole.stop()


async def _planned(whole: Embedded) -> None:
    """Wait until the coordinator has seen the broker and made a plan with it."""
    (coordinator,) = whole.coordinators.values()
    async with asyncio.timeout(_PATIENCE_S):
        while (made := coordinator.machine.deployment) is None or set(made.brokers) != set(whole.brokers):
            await asyncio.sleep(0.05)


async def _sample(client: Client, consumer: Subscription, size: int) -> Sample:
    began, worked = perf_counter(), process_time()
    publishing = asyncio.create_task(client.publish("s", b"." * size, topic="A"))
    received = await anext(aiter(consumer))
    delivered = perf_counter() - began
    await publishing
    assert len(received.payload) == size
    return Sample(size, 1000 * delivered, 1000 * (process_time() - worked))


def claims(rows: list[Sample]) -> list[Claim]:
    points = dict(means(rows, lambda row: row.payload_bytes, lambda row: row.delivered_ms))
    small = max(value.value for size, value in points.items() if size <= 10_000)
    large = points[1_000_000]
    work = {size: value.value for size, value in means(rows, lambda row: row.payload_bytes, lambda row: row.cpu_ms)}
    return [
        judged(
            "Around a millisecond for payloads up to 10 KB.",
            f"{small:.1f} ms at most, with {work[10_000]:.1f} ms of CPU time for all three parties.",
            small <= 3,
            "A write to disk, which the paper's broker does not wait for, an interpreter, and whoever else uses "
            "the machine.",
        ),
        judged(
            "20 ms for 1 MB.",
            f"{large.value:.0f} ± {large.margin:.0f} ms, {work[1_000_000]:.0f} ms of them CPU time. (Over the "
            "paper's 100 Mbit/s, "
            "1 MB takes 80 ms each way.)",
            large.value <= 40,
            "The message is written to disk and copied by an interpreter on the way.",
        ),
    ]


def _drawn(rows: list[Sample]) -> Any:
    drawn, axes = figure(1, width=6.6, height=3.8)
    points = means(rows, lambda row: row.payload_bytes, lambda row: row.delivered_ms)
    curve(axes, points, Style("ours, on disk first", BLUE))
    work = means(rows, lambda row: row.payload_bytes, lambda row: row.cpu_ms)
    curve(axes, work, Style("CPU time of it", SKY))
    axes.plot([*_PAPER], [*_PAPER.values()], color=GREY, linestyle=":", marker="x")
    axes.annotate("the paper", (10_000, 1.0), xytext=(0, -11), textcoords="offset points", color=GREY, fontsize=7.5)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    dress(axes, "One producer, one broker, one consumer (Figure 3)", "payload, bytes", "ms from publishing to receipt")
    name_ends(axes)
    return drawn
