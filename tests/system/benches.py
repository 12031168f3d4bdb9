"""A benchmark as users run it: the command in a process of its own, small."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[2]


Record = dict[str, Any]


def check_figures(contenders: dict[str, Record], peer: str, rounds: int, count: str) -> None:
    """What a report says of all contenders follows from their rounds; ``count`` is what was counted in these."""
    theirs = contenders[peer]["rounds"]
    for name, record in contenders.items():
        own = record["rounds"]
        assert len(own) == len(theirs) == rounds, name
        assert all(one[count] > 0 and one["wall_s"] > 0 for one in own), name
        assert record["per_second"] == round(median(_rate(one, count) for one in own)), name
        pairs = list(zip(own, theirs, strict=True))
        assert record["ratio"] == round(median(_rate(a, count) / _rate(b, count) for a, b in pairs), 2), name


def _rate(one: Record, count: str) -> float:
    return float(one[count] / one["wall_s"])


def check_deliveries(contenders: dict[str, Record], receivers: int) -> None:
    """Every receiver got every message that was sent, once."""
    for name, record in contenders.items():
        assert record["lost"] == 0, name
        for one in record["rounds"]:
            assert one["delivered"] == one["sent"] * receivers, name


def bench(name: str, folder: Path, *options: str, **environment: str) -> tuple[dict[str, Any], str]:
    out = folder / f"{name}.json"
    done = subprocess.run(
        [sys.executable, "-m", "semcast", "bench", name, "--quick", "--json", "--out", str(out), *options],
        capture_output=True, text=True, timeout=280, cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((f"{ROOT}/src", f"{ROOT}/experiments")), **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report == json.loads(out.read_text())
    return report, done.stderr
