"""Links that lose packets, and brokers that are cut off, in a network namespace of the test's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import find_program

ROOT = Path(__file__).parents[2]


@pytest.mark.system
@pytest.mark.timeout(900)
def test_nothing_is_missed_or_doubled_over_links_that_lose_packets(tmp_path: Path) -> None:
    ip = find_program("ip")
    find_program("nft")
    space = f"semcast-{os.getpid()}"
    if subprocess.run([ip, "netns", "add", space], capture_output=True).returncode:
        pytest.skip("this machine lets nobody make a network namespace")
    try:
        subprocess.run([ip, "netns", "exec", space, ip, "link", "set", "lo", "up"], check=True)
        command = [ip, "netns", "exec", space, sys.executable, "-m", "tests.live.lossy", str(tmp_path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    finally:
        subprocess.run([ip, "netns", "delete", space], check=True)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert "all have theirs" in done.stdout
