"""Real Kafka in, a live overlay out, on a standalone cluster of two workers; profiles come while it runs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from itertools import accumulate
from pathlib import Path

import pytest

from tests.pipeline.commands import got
from tests.pipeline.kafka import connector_jars, kafka
from tests.pipeline.overlays import client, overlay, until

pytestmark = [pytest.mark.spark, pytest.mark.system, pytest.mark.timeout(1800)]
ROWS, MORE = 5000, 2000
AT_ONCE = 1000
"""Messages of a batch, at most."""


def lines(prices: range) -> list[str]:
    return [json.dumps({"symbol": f"S{at % 3}", "price": float(at)}) for at in prices]


def behind(progress: Path) -> list[tuple[int, int | None, str]]:
    """Per batch: how many messages were in it and those before, and how far it was behind, in what."""
    told = [json.loads(line) for line in progress.read_text().splitlines()]
    through = accumulate(batch["messages"] + batch["dead"] for batch in told)
    return [(end, batch["behind"], batch["behind_of"]) for end, batch in zip(through, told, strict=True)]


def test_kafka_goes_over_a_cluster_to_everybody_who_asked(master: str, tmp_path: Path) -> None:
    connector = ",".join(map(str, connector_jars()))
    with kafka(tmp_path) as server, overlay(tmp_path) as url, client(url) as here:
        server.produce("quotes", lines(range(ROWS)))
        first = here.subscribe("quotes", "symbol = 'S0'")
        command = [
            sys.executable, "-m", "semcast", "pipeline", "--source", f"kafka://{server.address}/quotes",
            "--stream", "quotes", "--coordinator", url, "--checkpoint", str(tmp_path / "checkpoint"),
            "--master", master, "--jars", connector, "--conf", "spark.executor.memory=512m",
            "--conf", "spark.cores.max=2", "--at-once", str(AT_ONCE // 1000), "--progress", str(tmp_path / "progress"),
        ]  # fmt: skip
        with (tmp_path / "pipeline.log").open("wb") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        try:
            assert process.stdout is not None
            assert process.stdout.readline(), (tmp_path / "pipeline.log").read_text()[-4000:]
            assert sorted(got(first, -(-ROWS // 3))) == [float(at) for at in range(0, ROWS, 3)]
            second = here.subscribe("quotes", f"price >= {ROWS} AND symbol = 'S1'")
            later = range(ROWS, ROWS + MORE)
            server.produce("quotes", [*lines(later), "no message"])
            wanted = [[float(at) for at in later if at % 3 == rest] for rest in range(2)]
            assert sorted(got(second, len(wanted[1]))) == wanted[1]
            assert sorted(got(first, len(wanted[0]))) == wanted[0]
            until(lambda: behind(tmp_path / "progress")[-1][0] == ROWS + MORE + 1)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(120)
        told = (tmp_path / "pipeline.log").read_text()
        assert process.returncode == 0, told[-4000:]
        assert f"{ROWS + MORE:,} messages" in told
        assert "1 dead letters" in told
        batches = behind(tmp_path / "progress")
        first_ones = [batch for batch in batches if batch[0] <= ROWS]
        assert len(first_ones) >= ROWS // AT_ONCE
        assert first_ones[0][1:] == (None, ""), "Spark has not told yet how much there is"
        assert first_ones[1:] == [(end, ROWS - end, "messages") for end, _, _ in first_ones[1:]]
        assert batches[-1] == (ROWS + MORE + 1, 0, "messages")
        assert f", {ROWS - first_ones[1][0]:,} messages behind" in told
