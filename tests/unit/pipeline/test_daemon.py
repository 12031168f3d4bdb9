"""A Python worker of Spark whose task was cancelled leaves without a traceback."""

import subprocess
import sys

_HUNG_UP = """
import socket
from pyspark import daemon
from pyspark.serializers import write_with_length
from semcast.pipeline.daemon import _leaving_quietly

ours, spark = socket.socketpair()
with spark.makefile("wb") as file:
    write_with_length(b"the secret", file)
spark.close()
worker = {worker}
print(worker(ours, False))
"""


def _run(worker: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, as a worker sets signal handlers."""
    code = _HUNG_UP.format(worker=worker)
    env = {"PYTHON_WORKER_FACTORY_SECRET": "the secret", "PYTHONPATH": ":".join(sys.path)}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)


def test_a_worker_that_nobody_waits_for_ends_quietly() -> None:
    left = _run("_leaving_quietly(daemon.worker)")
    assert (left.stdout, left.stderr, left.returncode) == ("1\n", "", 0)


def test_spark_own_worker_would_print_a_traceback() -> None:
    assert "BrokenPipeError" in _run("daemon.worker").stderr
