"""How far a pipeline is behind, from what Spark writes down and tells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from semcast.pipeline.behind import Behind, Lag
from semcast.pipeline.feeds import Feed


def written(checkpoint: Path, batch: int, offset: str) -> None:
    (checkpoint / "offsets").mkdir(exist_ok=True)
    (checkpoint / "offsets" / str(batch)).write_text(f'v1\n{{"batchWatermarkMs":0}}\n{offset}')


def progress(latest: Any) -> dict[str, Any]:
    return {"sources": [{"latestOffset": latest}]}


def test_kafka_is_behind_by_what_lies_between_the_offsets_of_its_partitions(tmp_path: Path) -> None:
    lag = Lag(Feed("kafka", "t", "h:1"), str(tmp_path), dict)
    written(tmp_path, 3, '{"t":{"0":10,"1":7}}')
    assert lag.after(3, progress({"t": {"0": 15, "1": 9}})) == Behind(7, "messages")
    assert lag.after(3, progress('{"t":{"0":10,"1":3}}')) == Behind(0, "messages"), "it has gone on meanwhile"
    assert lag.after(3, progress('{"t":{"0":12,"2":3},"other":{"0":9}}')) == Behind(2, "messages")


def test_where_nothing_is_known_nothing_is_told(tmp_path: Path) -> None:
    lag = Lag(Feed("kafka", "t", "h:1"), str(tmp_path), dict)
    assert lag.after(0, progress({"t": {"0": 15}})) is None, "no checkpoint"
    written(tmp_path, 0, '{"t":{"0":10}}')
    for told in (None, {}, {"sources": []}, progress(None), progress("no JSON")):
        assert lag.after(0, told) is None
    assert Lag(Feed("rate", "10"), str(tmp_path), dict).after(0, None) is None
    assert Lag(Feed("json", str(tmp_path)), "hdfs://h/checkpoint", dict).after(0, None) is None


def test_an_ingest_is_behind_by_what_the_logs_hold_beyond_it(tmp_path: Path) -> None:
    lag = Lag(Feed("ingest", ""), f"file://{tmp_path}", lambda: {"b0": 9, "b1": 5, "new": 3})
    written(tmp_path, 1, '{"b0":4,"b1":5}')
    assert lag.after(1, None) == Behind(5, "messages")
    assert lag.after(2, None) is None


def test_of_a_folder_files_count_that_no_batch_has_taken(tmp_path: Path) -> None:
    incoming, taken = tmp_path / "in", tmp_path / "c" / "sources" / "0"
    (incoming / "deeper").mkdir(parents=True)
    taken.mkdir(parents=True)
    for name in ("a b.json", "deeper/c.json", "d.json", ".hidden", "_tmp/e.json"):
        (incoming / name).parent.mkdir(exist_ok=True)
        (incoming / name).write_text("{}")
    lines = Lag(Feed("json", str(incoming)), str(tmp_path / "c"), dict)
    table = Lag(Feed("csv", str(incoming)), str(tmp_path / "c"), dict)
    assert (lines.after(0, None), table.after(0, None)) == (Behind(3, "files"), Behind(2, "files"))
    for batch, name in ((0, "a%20b.json"), (1, "deeper/c.json")):
        line = f'{{"path":"file://{incoming}/{name}","timestamp":1,"batchId":{batch}}}'
        (taken / str(batch)).write_text(f"v1\n{line}")
    assert (lines.after(1, None), table.after(1, None)) == (Behind(1, "files"), Behind(1, "files"))
