from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from semcast.pipeline.launchers import worker_python

TELL = "import os, sys; print(sys.executable, os.environ['PYTHONPATH'], *sys.argv[1:], sep='\\n')"


def told(python: str, path: str, *words: str) -> list[str]:
    environ = {**os.environ, "PYTHONPATH": path}
    return subprocess.check_output([python, "-c", TELL, *words], env=environ, text=True).splitlines()


def test_workers_python_leaves_out_sparks_zip_files_and_nothing_else(tmp_path: Path) -> None:
    python = worker_python({"XDG_CACHE_HOME": str(tmp_path / "a cache")})
    assert Path(python).is_relative_to(tmp_path / "a cache")
    lib = "/opt/a spark/python/lib"
    given = f"{lib}/pyspark.zip:{lib}/py4j-0.10.9.9-src.zip:/opt/a spark/jars/spark-core.jar:/home/*/src:/other.zip"
    kept = "/opt/a spark/jars/spark-core.jar:/home/*/src:/other.zip"
    assert told(python, given, "a b", "*", "") == [sys.executable, kept, "a b", "*", ""]


def test_workers_python_runs_without_a_path(tmp_path: Path) -> None:
    python = worker_python({"XDG_CACHE_HOME": str(tmp_path)})
    assert told(python, "") == [sys.executable, ""]
    assert told(python, "/x/python/lib/pyspark.zip") == [sys.executable, ""]


def test_workers_python_is_this_one_where_no_folder_takes_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(tempfile, "tempdir", str(file))
    assert worker_python({"XDG_CACHE_HOME": str(file), "HOME": str(file)}) == sys.executable
