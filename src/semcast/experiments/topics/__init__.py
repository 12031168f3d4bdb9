"""The evaluation of the *topics* paper (Figures 4–10), with our default engine beside its three.

Workload → Cost (computing, adding, removing) and Memory → CSV, JSON, plots and a note on what agrees.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from semcast.experiments.output import write_table
from semcast.experiments.topics.costs import Cost, batches, costs
from semcast.experiments.topics.memory import Memory, memory
from semcast.experiments.topics.note import claims, note
from semcast.experiments.topics.workload import VALUES, shared_prefixes

__all__ = ["topics"]

_COMPARED = 7  # attributes, as in the paper's Figure 7


class _Scale(NamedTuple):
    attributes: list[int]
    sizes: list[int]
    messages: int


_FULL = _Scale(list(range(2, 11)), [10_000, 25_000, 50_000, 75_000, 100_000], 1_000_000)
_QUICK = _Scale([2, 4, 7, 10], [1_000, 5_000, 10_000], 200_000)


def topics(quick: bool, seed: int, out: Path, progress: Callable[[str], None]) -> dict[str, Any]:
    """Run the evaluation and write it to ``out``; five minutes, or half of one where ``quick`` (10^4 subscriptions)."""
    scale = _QUICK if quick else _FULL
    out.mkdir(parents=True, exist_ok=True)
    found = [cost for depth in scale.attributes for cost in costs(depth, scale.sizes, seed, progress)]
    depths = [depth for depth in (4, _COMPARED, 10) if depth in scale.attributes]
    taken = [size for depth in depths for size in memory(depth, scale.sizes[-1], seed, progress)]
    progress("a stream with repeated topics")
    rates = batches(_COMPARED, scale.sizes[-1], scale.messages, seed)
    edges = {values: shared_prefixes(100_000, 10, values, seed) for values in (VALUES, 5_000)}
    result = {
        "seed": seed,
        "quick": quick,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "topics_per_second": rates,
        "edges_of_100000_x_10_by_values": edges,
        "note": note(found, taken, rates, edges, _COMPARED),
        "claims": [list(claim) for claim in claims(found, taken, edges, _COMPARED)],
        "costs": [cost._asdict() for cost in found],
        "memory": [size._asdict() for size in taken],
    }
    return result | {"files": [str(path) for path in _write(result, found, taken, out)]}


def _write(result: dict[str, Any], found: Sequence[Cost], taken: Sequence[Memory], out: Path) -> list[Path]:
    from semcast.experiments.topics.figures import draw  # matplotlib takes a second to import

    files = [write_table(out / "topics-costs.csv", found), write_table(out / "topics-memory.csv", taken)]
    files.append(out / "topics.json")
    files[-1].write_text(json.dumps(result, indent=1) + "\n")
    return files + draw(found, taken, _COMPARED, out)
