"""``semcast match`` where Hadoop's file system misses a program that it calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.programs import path_without_java

pytestmark = pytest.mark.spark


def test_a_missing_program_is_named_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text(json.dumps({"id": "a", "language": "relational", "text": "price > 10"}))
    (tmp_path / "m.jsonl").write_text('{"price": 11}\n')
    programs = path_without_java(tmp_path / "programs")
    assert not Path(programs, "chmod").exists()
    done = subprocess.run(
        [sys.executable, "-m", "semcast", "match", "--profiles", "p.jsonl", "--messages", "m.jsonl"],
        env={**os.environ, "PATH": programs}, cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    error = next(line for line in done.stderr.splitlines() if line.startswith("error: "))
    assert error.startswith('error: m.jsonl: IOException: Cannot run program "chmod"')
    assert error.endswith("is chmod installed, and on PATH?")
    assert "Traceback" not in done.stderr
