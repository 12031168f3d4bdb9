"""What members of a deployment say of themselves over HTTP, and what the kernel says of their processes."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from semcast.planning.plan import Plan

_TURNS = re.compile(r'^semcast_turn_seconds_bucket\{.*le="([^"]+)".*\} (\S+)$', re.MULTILINE)
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


async def settled(ask: Callable[[str], Awaitable[Any]], gateways: Collection[str]) -> dict[str, Any]:
    """A coordinator's status once its plan leads to all gateways, and nothing new has happened for a while."""
    before = None
    async with asyncio.timeout(60):
        while True:
            status, plan = await ask("status"), await ask("plan")
            channels = Plan.from_json(json.dumps(plan)).channels if plan is not None else ()
            reached = {broker for channel in channels for edge in channel.tree for broker in edge}
            if status is not None and reached.issuperset(gateways) and status["notes"] == before:
                return dict(status)
            before = status["notes"] if status is not None else None
            await asyncio.sleep(1.5)


async def turns_above(address: str, seconds: float) -> int:
    """How many turns of a member's event loop took more CPU than that; ``seconds`` is an edge of its histogram."""
    text = await asyncio.to_thread(_metrics, address)
    counts = {float(edge): float(count) for edge, count in _TURNS.findall(text)}
    return int(counts[float("inf")] - counts[seconds])


def _metrics(address: str) -> str:
    with urlopen(f"http://{address}/metrics", timeout=60) as answer:
        return str(answer.read().decode())


def cpu_s(pid: int) -> float:
    """CPU that a process has used since it began."""
    fields = (Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def rss_bytes(pid: int) -> int:
    return int((Path("/proc") / str(pid) / "statm").read_text().split()[1]) * _PAGE
