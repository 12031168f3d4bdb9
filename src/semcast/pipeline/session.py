"""Start Spark the way SemCast needs it: by itself, quiet, and reachable from this machine only.

Everything that must be decided before the JVM starts is decided here: which Java, how much memory, which
Python, which address, what is logged. Under ``spark-submit`` the JVM runs already, and whoever submitted
has decided; then only those settings are made that give profiles their meaning.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark
from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from semcast.model import SemcastError
from semcast.pipeline.datasource import register
from semcast.pipeline.java import Java, find_java
from semcast.pipeline.launchers import worker_python

_MIB = 1 << 20
_LOCAL = re.compile(r"local(\[(?P<cores>\d+)?.*\])?$")
_LOOPBACK = re.compile(r"local\b|spark://(127\.\d+\.\d+\.\d+|localhost):")
_DAEMON = "semcast.pipeline.daemon"  # by name: a module that is imported here cannot be run with `python -m`
_LOGGING = Path(__file__).with_name("log4j2.properties")

_MEANING = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.caseSensitive": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


def session(name: str = "semcast", master: str | None = None, **conf: str | float) -> SparkSession:
    """Return the running Spark session, else start one: by default embedded, on all cores of this machine.

    ``conf`` holds Spark settings by their own names (``**{"spark.driver.memory": "4g"}``) and goes before
    every default. On a cluster, the Python of the workers must have semcast installed.
    """
    given = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in conf.items()}
    running = _running()
    if running is not None:
        return _adjusted(running, master, given)
    return register(_started(name, master, given))


def _started(name: str, master: str | None, given: dict[str, str]) -> SparkSession:
    settings = {"spark.app.name": name, **_MEANING, "spark.python.daemon.module": _DAEMON}
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # under spark-submit
        return _build({**settings, **({"spark.master": master} if master else {}), **given})
    master = given.pop("spark.master", master or "local[*]")
    settings["spark.master"] = master
    return _start({**settings, **_defaults(master), **given, **_java_options(given)}, master)


def _running() -> SparkSession | None:
    """The session of this process, whichever thread started it (Spark's own question is per thread)."""
    if SparkContext._active_spark_context is None:
        return SparkSession.getActiveSession()
    return SparkSession.builder.getOrCreate()


def _adjusted(running: SparkSession, master: str | None, given: Mapping[str, str]) -> SparkSession:
    where = running.conf.get("spark.master", None)
    if master not in (None, where):
        raise SemcastError(f"Spark already runs on {where}, so it cannot start on {master}; stop() that session first")
    for key, value in given.items():
        if running.conf.isModifiable(key):
            running.conf.set(key, value)
        elif running.conf.get(key, None) != value:
            raise SemcastError(f"{key} cannot be changed while Spark runs; stop() that session first")
    return running


def _build(settings: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _start(settings: Mapping[str, str], master: str) -> SparkSession:
    java = find_java()
    with _environment(_variables(java, master)), _same_interrupts():
        try:
            return _build(settings)
        except PySparkRuntimeError as error:
            if error.getCondition() != "JAVA_GATEWAY_EXITED":
                raise
            raise SemcastError(
                f"Java {java.version} from {java.origin} ended while it started Spark with "
                f"{settings['spark.driver.memory']} of memory; what it says itself stands above"
            ) from error


def _defaults(master: str) -> dict[str, str]:
    defaults = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": _driver_memory(),
        # What a batch costs apart from its rows is paid a third as often as by Spark's 10,000: at 100,000
        # profiles that is four times the throughput.
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 15),
    }
    if _LOOPBACK.match(master):
        defaults |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    local = _LOCAL.match(master)
    if local:  # Spark's own 200 shuffle partitions cost more than the work in them
        defaults["spark.sql.shuffle.partitions"] = str(2 * int(local["cores"] or _cores()))
    return defaults


def _java_options(given: Mapping[str, str]) -> dict[str, str]:
    """Have the JVM log as our file says, unless the caller configures logging; keep the caller's options."""
    key = "spark.driver.extraJavaOptions"
    options = given.get(key, "")
    if "log4j" in options:
        return {key: options}
    # As a URI it has no blank and no quote, whatever folder we are installed in.
    return {key: f"{options} -Dlog4j2.configurationFile={_LOGGING.as_uri()}".strip()}


def _variables(java: Java, master: str) -> dict[str, str]:
    """What Spark's start script and SparkContext read from the environment, and nowhere else."""
    variables = {"JAVA_HOME": str(java.home)}
    if not _LOOPBACK.match(master):
        return {"PYSPARK_PYTHON": sys.executable, **os.environ, **variables}
    # A SPARK_HOME or PYSPARK_PYTHON of another installation would bring another Spark, or workers without semcast.
    home = str(Path(pyspark.__file__).parent)
    return {**variables, "SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": worker_python()}


@contextmanager
def _same_interrupts() -> Iterator[None]:
    """Leave SIGINT as the program has it: Spark puts a handler of its own in its place while it starts."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables for as long as Spark starts: it reads them then and never again."""
    before = {key: os.environ.get(key) for key in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _driver_memory() -> str:
    """A quarter of this machine's memory, 1 to 8 GiB: Python workers and the file cache need the rest."""
    return f"{min(max(_memory_bytes() // 4 // _MIB, 1024), 8192)}m"


def _memory_bytes() -> int:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()  # a container's share
    except OSError:
        return memory
    return min(memory, int(limit)) if limit.isdigit() else memory
