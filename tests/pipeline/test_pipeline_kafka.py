"""Real Kafka in, a live overlay out, on a standalone cluster of two workers; profiles come while it runs."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.kafka import connector_jars, kafka
from tests.pipeline.overlays import client, overlay
from tests.pipeline.test_cluster import master  # noqa: F401
from tests.pipeline.test_pipeline_killed import got

pytestmark = [pytest.mark.spark, pytest.mark.system, pytest.mark.timeout(1800)]
ROWS = 2000


def lines(first: int) -> list[str]:
    return [json.dumps({"symbol": f"S{at % 3}", "price": float(at)}) for at in range(first, first + ROWS)]


def test_kafka_goes_over_a_cluster_to_everybody_who_asked(master: str, tmp_path: Path) -> None:  # noqa: F811
    connector = ",".join(map(str, connector_jars()))
    with kafka(tmp_path) as server, overlay(tmp_path) as url, client(url) as here:
        server.produce("quotes", lines(0))
        first = here.subscribe("quotes", "symbol = 'S0'")
        command = [
            sys.executable, "-m", "semcast", "pipeline", "--source", f"kafka://{server.address}/quotes",
            "--stream", "quotes", "--coordinator", url, "--checkpoint", str(tmp_path / "checkpoint"),
            "--master", master, "--jars", connector, "--conf", "spark.executor.memory=512m",
            "--conf", "spark.cores.max=2",
        ]  # fmt: skip
        with (tmp_path / "pipeline.log").open("wb") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        try:
            assert process.stdout is not None
            assert process.stdout.readline(), (tmp_path / "pipeline.log").read_text()[-4000:]
            assert sorted(got(first, -(-ROWS // 3))) == [float(at) for at in range(0, ROWS, 3)]
            second = here.subscribe("quotes", f"price >= {ROWS} AND symbol = 'S1'")
            server.produce("quotes", [*lines(ROWS), "no message"])
            assert sorted(got(second, 666)) == [float(at) for at in range(ROWS, 2 * ROWS) if at % 3 == 1]
            assert sorted(got(first, 667)) == [float(at) for at in range(ROWS, 2 * ROWS) if at % 3 == 0]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(120)
        told = (tmp_path / "pipeline.log").read_text()
        assert process.returncode == 0, told[-4000:]
        assert f"{2 * ROWS:,} messages" in told
        assert "1 dead letters" in told
