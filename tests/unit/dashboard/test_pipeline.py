"""Spark's progress, as it is read from a file."""

from __future__ import annotations

import json
from pathlib import Path

from semcast.dashboard.pipeline import Progress


def test_batches_are_read_and_what_is_none_is_counted(tmp_path: Path) -> None:
    batch = {"name": "quotes", "batchId": 7, "timestamp": "2026-01-02T03:04:05.500Z", "numInputRows": 1200}
    batch |= {"processedRowsPerSecond": 600.0, "inputRowsPerSecond": "NaN", "durationMs": {"triggerExecution": 2000}}
    file = tmp_path / "progress.jsonl"
    file.write_text(json.dumps(batch) + "\nnonsense\n{}\n[]\n")
    told = Progress(file).read()
    assert told["unreadable"] == 3
    assert told["batches"] == [
        {
            "query": "quotes",
            "batch": 7,
            "at": 1767323045.5,
            "rows": 1200,
            "rows_s": 600.0,
            "arriving_s": None,
            "took_ms": 2000.0,
        }
    ]


def test_a_file_that_is_not_there_yet_is_no_error(tmp_path: Path) -> None:
    assert "No such file" in Progress(tmp_path / "none").read()["trouble"]
    assert Progress(None).read() == {"file": None, "batches": [], "unreadable": 0}
