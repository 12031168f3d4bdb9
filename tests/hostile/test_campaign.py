"""Ten thousand further cases of each family of hostile input: `make soak`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FAMILIES = {
    "patterns": ["tests/laws/test_like_laws.py", "tests/laws/test_list_laws.py"],
    "frames by sender": ["tests/laws/test_sender_laws.py"],
    "values": ["tests/laws/test_value_laws.py"],
    "headers": ["tests/hostile/test_http.py", "-k", "any_headers"],
}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_ten_thousand_more_cases(family: str) -> None:
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "--timeout", "3000", *FAMILIES[family]]
    done = subprocess.run(
        words, cwd=ROOT, env={**os.environ, "SEMCAST_CASES": "10000"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:]
