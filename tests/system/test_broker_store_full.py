"""A broker's store on a real disk that is full."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from semcast.storage.broker_store import SEGMENTS, BrokerStore
from tests.unit.storage.written import check_after_full, fill


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", tmp_path], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.system
@pytest.mark.parametrize("batch", [50, 200], ids=["in the file", "in segments"])
def test_a_disk_that_is_full_fails_the_commit_and_a_later_one_makes_up_for_it(small_disk: Path, batch: int) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(1 << 20))
    folder = small_disk / "b"
    store = BrokerStore(folder, source=True)
    committed = fill(store, batch)
    assert (folder / SEGMENTS).exists() is (batch == 200)
    check_after_full(store, folder, committed)
    ballast.unlink()
    assert store.commit() == committed + batch
    assert store.verify() == committed + batch
    store.close()
