"""A start on a disk that takes nothing: it stands still, says why, and goes on when there is room."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

import semcast
from semcast.server.serve import run
from tests.live.disks import filled
from tests.live.overlays import CALM, until, written

pytestmark = pytest.mark.system

STANDS_STILL = "stands still, and tries again"


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    if os.getuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", str(folder)]).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@asynccontextmanager
async def up(file: Path, how: str) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "semcast", "up", str(file), how,
        stdout=PIPE, stderr=(file.parent / "up.log").open("wb"), start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


@pytest.mark.parametrize("how", ["--processes", "--embedded"])
@pytest.mark.parametrize("known", [False, True], ids=["the first time", "again"])
def test_a_start_on_a_full_disk_stands_still_and_goes_on_when_there_is_room(
    tmp_path: Path, how: str, known: bool
) -> None:
    with small_disk(tmp_path / "data") as disk:
        run(_goes_on(tmp_path, disk, how, known))


async def _goes_on(folder: Path, disk: Path, how: str, known: bool) -> None:
    file = written(folder, brokers=4, gateways=1, settings=CALM)

    def said() -> str:
        return (folder / "up.log").read_text()

    if known:
        async with up(file, how) as process:
            assert process.stdout is not None
            assert await process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0
    async with up(file, how) as process:
        assert process.stdout is not None
        with filled(disk):
            await until(lambda: STANDS_STILL in said() or process.returncode is not None, patience_s=120)
            await asyncio.sleep(3.0)
            assert process.returncode is None, said()
        async with asyncio.timeout(120):
            addresses = json.loads(await process.stdout.readline())["addresses"]
        async with semcast.connect(addresses["c0"]) as client:
            assert (await client.publish("topics", b"x", topic="a")).id
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
    assert "Traceback" not in said()
    assert " ended (" not in said()
    assert "the disk is full" in said()
    assert said().count(STANDS_STILL) < 10


@pytest.mark.parametrize("how", ["--processes", "--embedded"])
def test_ctrl_c_ends_a_start_that_stands_still_and_leaves_nobody_behind(tmp_path: Path, how: str) -> None:
    with small_disk(tmp_path / "data") as disk:
        run(_ends(tmp_path, disk, how))


async def _ends(folder: Path, disk: Path, how: str) -> None:
    file = written(folder, brokers=4, gateways=1, settings=CALM)
    with filled(disk):
        async with up(file, how) as process:
            await until(lambda: STANDS_STILL in (folder / "up.log").read_text(), patience_s=120)
            process.send_signal(signal.SIGINT)
            async with asyncio.timeout(60):
                assert await process.wait() == 0
    assert "Traceback" not in (folder / "up.log").read_text()
    left = subprocess.run(["pgrep", "-f", str(file)], capture_output=True, text=True).stdout
    assert left == ""
