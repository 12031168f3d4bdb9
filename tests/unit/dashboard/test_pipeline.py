"""Spark's progress, as it is read from a file."""

from __future__ import annotations

import json
from pathlib import Path

from semcast.dashboard.pipeline import Progress
from semcast.pipeline.streaming import Batch


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
            "matched": None,
            "dead": None,
            "epoch": None,
            "behind": None,
            "behind_of": "",
        }
    ]


def test_a_file_that_is_not_there_yet_is_no_error(tmp_path: Path) -> None:
    assert "No such file" in Progress(tmp_path / "none").read()["trouble"]
    assert Progress(None).read() == {"file": None, "batches": [], "unreadable": 0}


def test_batches_of_our_own_pipeline_tell_more(tmp_path: Path) -> None:
    batch = Batch(3, 1000, 700, 2, 5, 0.5, 0.1, 0.2, 0.0, 12, "files")
    file = tmp_path / "progress.jsonl"
    lines = [json.dumps({"at": at, "stream": "quotes", **batch._asdict()}) for at in (8.0, 9.0)]
    file.write_text("\n".join(lines) + "\n")  # it was run again
    (told,) = Progress(file).read()["batches"]
    assert (told["query"], told["batch"], told["at"], told["rows"]) == ("quotes", 3, 9.0, 1000)
    assert (told["rows_s"], told["took_ms"]) == (2000.0, 500.0)
    assert (told["matched"], told["dead"], told["epoch"]) == (700, 2, 5)
    assert (told["behind"], told["behind_of"]) == (12, "files")
