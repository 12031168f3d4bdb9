"""``semcast up``, ``publish``, ``subscribe`` and ``status`` as a person uses them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from semcast.server.serve import run
from tests.live.commands import semcast
from tests.live.deployments import Deployment, running
from tests.live.overlays import written

pytestmark = pytest.mark.system


def test_an_overlay_from_one_file_and_its_clients(tmp_path: Path) -> None:
    run(_an_overlay_and_its_clients(tmp_path))


async def _an_overlay_and_its_clients(folder: Path) -> None:
    file = written(folder, brokers=4, gateways=2)
    async with running(file) as up:
        url = f"semcast://{up.addresses[up.having('gateway')[0]]}"
        quotes = (
            '{"symbol": "A", "price": 11}\n\n{"symbol": "A", "price": 9}\n{"symbol": 7}\n{"symbol": "B", "price": 12}\n'
        )
        published = await semcast("publish", "quotes", "--json", stdin=quotes, url=url)
        assert published.returncode == 1
        assert "line 3: 'symbol' should be a string, and is 7" in published.stderr
        counts = json.loads(published.stdout)
        assert (counts["published"], counts["refused"]) == (3, 1)
        words = ["subscribe", "quotes", "price > 10", "--count", "1", "--timeout", "120"]
        watching = asyncio.create_task(semcast(*words, "--json", url=url))
        await _until_live(up)
        assert (await semcast("publish", "quotes", stdin='{"symbol": "C", "price": 20}', url=url)).returncode == 0
        seen = await watching
        assert "live" in seen.stderr
        found = json.loads(seen.stdout)
        assert json.loads(found["payload"]) == {"symbol": "C", "price": 20}
        assert found["id"] == f"{up.having('source')[0]}:4"
        await _errors(url)
        status = await semcast("status", url=up.addresses["c0"])
        assert "test: masked" in status.stdout
        assert status.stdout.count(" up ") == 4
        links = json.loads((await semcast("status", "--json", url=url)).stdout)
        assert all(link["up"] for link in links["links"].values())


async def _until_live(up: Deployment) -> None:
    while True:
        found: dict[str, Any] = json.loads((await semcast("status", "--json", url=up.addresses["c0"])).stdout)
        if found["subscriptions"] and found["phase"] == "settled":
            return


async def _errors(url: str) -> None:
    said = await semcast("subscribe", "quots", "price > 10", url=url)
    assert (said.returncode, said.stderr.count("\n")) == (1, 1)
    assert "did you mean 'quotes'?" in said.stderr
    said = await semcast("subscribe", "quotes", "prise > 10", url=url)
    assert "unknown attribute 'prise'" in said.stderr
    said = await semcast("status", url="")
    assert "SEMCAST_URL" in said.stderr


def test_who_is_not_there_is_told_in_one_line_with_a_code_of_its_own() -> None:
    said = run(semcast("status", "--url", "127.0.0.1:1"))
    assert (said.returncode, said.stdout) == (3, "")
    assert said.stderr == "error: nobody answers at 127.0.0.1:1\n"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("[ports]\nb99 = 1\n", "ports.b99: there is no such broker or coordinator"),
        ("[streams.x]\nlangage = 'topic'\n", "streams.x.langage: there is no such key; did you mean 'language'?"),
        ("[streams.x]\nlanguage = 'sql'\n", "streams.x.language: there is no 'sql'; there is relational, xpath"),
    ],
)
def test_an_error_in_the_file_names_its_line(tmp_path: Path, more: str, said: str) -> None:
    file = written(tmp_path, more=more)
    line = len(file.read_text().splitlines())
    found = run(semcast("up", str(file)))
    assert found.returncode == 1
    assert said in found.stderr
    assert f"up.toml:{line}" in found.stderr


def test_an_overlay_ends_cleanly_while_a_part_of_it_is_being_started_again(tmp_path: Path) -> None:
    run(_ends_cleanly(tmp_path))


async def _ends_cleanly(folder: Path) -> None:
    async with running(written(folder, brokers=4, gateways=2)) as up:
        victims = [up.pid(name) for name in ("b0", "c0")]
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(0.3)
    for name in ("c0", "b0", "b1", "b2", "b3"):
        with pytest.raises(ProcessLookupError):
            os.kill(up.pid(name), 0)
