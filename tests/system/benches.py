"""A benchmark as users run it: the command in a process of its own, small."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def bench(name: str, folder: Path, **environment: str) -> tuple[dict[str, Any], str]:
    out = folder / f"{name}.json"
    done = subprocess.run(
        [sys.executable, "-m", "semcast", "bench", name, "--quick", "--json", "--out", str(out)],
        capture_output=True, text=True, timeout=280, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report == json.loads(out.read_text())
    return report, done.stderr
