from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

from semcast.model import SemcastError
from semcast.pipeline import interrupts
from semcast.pipeline.session import session

pytestmark = pytest.mark.spark

LISTENING = "0A"  # the state, in /proc/net/tcp


def run(code: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own, since a process can start only one JVM."""
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env={**os.environ, **environ}, capture_output=True, text=True
    )


def workers(spark: SparkSession, expression: str) -> list[str]:
    """What ``expression`` says in each of two Python workers."""

    def tell(batches: Iterator[object]) -> Iterator[object]:
        import os  # noqa: F401
        import sys  # noqa: F401

        import pyarrow as pa

        for _ in batches:
            pass
        yield pa.RecordBatch.from_pydict({"said": [str(eval(expression))]})

    frame: DataFrame = spark.range(0, 2, 1, 2).mapInArrow(tell, "said string")
    return [row.said for row in frame.collect()]


def test_settings_give_profiles_their_meaning(spark: SparkSession) -> None:
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.caseSensitive") == "true"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "4"


def test_running_session_is_used_again_from_any_thread(spark: SparkSession) -> None:
    found = []
    thread = threading.Thread(target=lambda: found.append(session()))
    thread.start()
    thread.join()
    assert session() is spark
    assert found[0].sparkContext is spark.sparkContext


def test_running_session_cannot_be_moved_to_another_master(spark: SparkSession) -> None:
    with pytest.raises(SemcastError, match=r"already runs on local\[2\]"):
        session(master="local[3]")


def test_running_session_takes_settings_that_can_still_change(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    assert session(**{"spark.sql.shuffle.partitions": "7"}).conf.get("spark.sql.shuffle.partitions") == "7"
    spark.conf.set("spark.sql.shuffle.partitions", str(before))
    with pytest.raises(SemcastError, match=r"spark\.driver\.memory cannot be changed"):
        session(**{"spark.driver.memory": "3g"})


def test_workers_run_this_python(spark: SparkSession) -> None:
    assert set(workers(spark, "sys.executable")) == {sys.executable}


def test_workers_have_the_pyspark_that_is_installed_and_not_one_to_compile_first(spark: SparkSession) -> None:
    assert set(workers(spark, "__import__('pyspark').__file__")) == {pyspark.__file__}


def test_workers_are_forked_with_the_kernels_loaded(spark: SparkSession) -> None:
    assert set(workers(spark, "'semcast.matching.relational.kernels' in sys.modules")) == {"True"}


def test_forks_can_use_arrows_threads(spark: SparkSession) -> None:
    table = "__import__('pyarrow').table({'a': range(300_000), 'b': range(300_000)})"
    assert set(workers(spark, f"{table}.group_by('a').aggregate([('b', 'sum')]).num_rows")) == {"300000"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_nothing_listens_beyond_the_loopback(spark: SparkSession) -> None:
    workers(spark, "1")  # their daemon listens too
    ours = {os.getpid()}
    parents = {int(path.parent.name): parent(path) for path in Path("/proc").glob("[0-9]*/stat")}
    while more := {pid for pid, father in parents.items() if father in ours} - ours:
        ours |= more
    sockets = {inode for pid in ours for inode in inodes(pid)}
    addresses = [address for address, inode in listening() if inode in sockets]
    assert addresses
    assert set(addresses) <= {"0100007F", "0000000000000000FFFF00000100007F"}


def parent(stat: Path) -> int:
    try:
        return int(stat.read_text().rpartition(")")[2].split()[1])
    except OSError:  # it ended just now
        return 0


def inodes(pid: int) -> Iterator[str]:
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(handle)
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target[len("socket:[") : -1]


def listening() -> Iterator[tuple[str, str]]:
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING:
                yield fields[1].partition(":")[0], fields[9]


def test_error_in_a_worker_is_raised_and_not_printed_too(
    spark: SparkSession, capfd: pytest.CaptureFixture[str]
) -> None:
    interrupts._silence()  # as commands do; a library leaves loggers alone
    with pytest.raises(PythonException, match="ZeroDivisionError"):
        workers(spark, "1 / 0")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        spark.sql("select 1 / 0").collect()
    assert capfd.readouterr().err == ""


def test_start_is_silent_despite_another_installation_and_leaves_nothing_in_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    done = run(
        "from semcast.pipeline.session import session; print(session().range(9).count())",
        folder,
        SPARK_HOME="/opt/old spark",
        SPARK_LOCAL_IP="10.1.1.1",
        PYSPARK_PYTHON="/usr/bin/python2",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "9\n", "")
    assert list(folder.iterdir()) == []


def test_jvm_that_cannot_start_is_one_clear_error(tmp_path: Path) -> None:
    code = """
from semcast.model import SemcastError
from semcast.pipeline.session import session
try:
    session(**{"spark.driver.memory": "900000000g"})
except SemcastError as error:
    print(error)
"""
    done = run(code, tmp_path)
    assert "ended while it started Spark with 900000000g of memory" in done.stdout


def test_a_session_leaves_signals_and_loggers_as_the_program_has_them(tmp_path: Path) -> None:
    code = """
import logging, signal
def mine(number, frame): ...
signal.signal(signal.SIGINT, mine)
before = [list(logging.getLogger(name).filters) for name in (None, "py4j.clientserver")]
from semcast.pipeline.session import session
print(session(master="local[1]").range(9).count())
print(signal.getsignal(signal.SIGINT) is mine)
print([list(logging.getLogger(name).filters) for name in (None, "py4j.clientserver")] == before)
"""
    assert run(code, tmp_path).stdout == "9\nTrue\nTrue\n"


INTERRUPTED = """
import time
from semcast.cli.spark import session
from semcast.pipeline.interrupts import running_tasks, stop

def sleep(batches):
    for batch in batches:
        open("running", "w").close()
        time.sleep(1000)
        yield batch

spark = session(master="local[2]")
try:
    spark.range(0, 2, 1, 2).mapInArrow(sleep, "id long").count()
except KeyboardInterrupt:
    pass
"""
GOES_ON = """
tracker = spark.sparkContext.statusTracker()
while tracker.getActiveJobsIds():
    time.sleep(0.1)
print(spark.range(9).count())
"""
STOPS = """
print(running_tasks(spark))
end, spark.stop = spark.stop, lambda: (print(running_tasks(spark)), end())
stop(spark)
"""


def interrupt_when(
    ready: Callable[[int], bool], cwd: Path, then: str = GOES_ON, send: Callable[[int, int], None] = os.killpg
) -> tuple[int, str, str]:
    """Start the program above as a terminal does, in a group, and send Ctrl-C to the group, or to it alone."""
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED + then],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while not ready(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    send(process.pid, signal.SIGINT)
    # Ends only when every process that holds the pipes has ended, the JVM among them.
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_interrupt_in_a_job_cancels_it_and_spark_lives_on(tmp_path: Path) -> None:
    assert interrupt_when(lambda _: (tmp_path / "running").exists(), tmp_path) == (0, "9\n", "")


def test_spark_is_stopped_when_the_tasks_of_what_was_cancelled_have_ended(tmp_path: Path) -> None:
    assert interrupt_when(lambda _: (tmp_path / "running").exists(), tmp_path, STOPS, os.kill) == (0, "2\n0\n", "")


def test_interrupt_while_spark_starts_leaves_no_jvm_behind(
    tmp_path: Path, require_program: Callable[[str], str]
) -> None:
    ps = require_program("ps")

    def jvm_starts(group: int) -> bool:
        lines = subprocess.check_output([ps, "-axwwo", "pgid=,args="], text=True).splitlines()
        return any(line.split()[0] == str(group) and "deploy.SparkSubmit" in line for line in lines)

    code, out, err = interrupt_when(jvm_starts, tmp_path)
    assert (code, out) == (-signal.SIGINT, "")
    assert err.strip().splitlines()[-1] == "KeyboardInterrupt"
