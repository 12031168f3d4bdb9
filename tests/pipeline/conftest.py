"""What several tests of the pipeline run on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pipeline.clusters import Processes, awaited


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A master's address, once two workers have joined it."""
    folder = tmp_path_factory.mktemp("cluster")
    with Processes(folder) as processes:
        log = processes.start(
            "master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"
        )
        address = awaited(log, r"Starting Spark master at (spark://\S+)")
        for name in ("one", "two"):
            worker = (
                "org.apache.spark.deploy.worker.Worker",
                "--host",
                "127.0.0.1",
                "--webui-port",
                "0",
                "-c",
                "1",
                "-m",
                "1g",
            )
            processes.start(name, *worker, "-d", str(folder / name), address)
        awaited(log, r"(?s)Registering worker.*Registering worker")
        yield address
