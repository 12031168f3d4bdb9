"""Semantic profiles on Spark: packets in files and DataFrames, what cannot be read told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from semcast.cli.match import match as match_command
from semcast.pipeline import match
from tests.unit.profiles.thesis import FIGURE_3_2, FIGURE_3_3, FIGURE_5_2, correction, figure_3_4

pytestmark = pytest.mark.spark


def test_packets_of_a_file_are_matched_by_the_command(spark: SparkSession, tmp_path: Path) -> None:
    profiles = [
        {"id": "chart", "language": "semantic", "text": FIGURE_5_2},
        {"id": "concert", "language": "semantic", "text": figure_3_4(40)},
        {
            "id": "jazz",
            "language": "semantic",
            "text": "d:Genre = Jazz",
            "namespaces": {"d": "http://schema.concerts.org/concert/1.0"},
        },
    ]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(profile) + "\n" for profile in profiles))
    payloads = [
        correction("2", "24"),
        FIGURE_3_2,
        "<broken",
        FIGURE_3_3,
        None,
        "<news/>",
        correction("6", "67", "67888"),
    ]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps({"payload": payload}) + "\n" for payload in payloads))
    match_command(
        profiles=tmp_path / "p.jsonl", messages=tmp_path / "m.jsonl", out=tmp_path / "out.jsonl", language="semantic"
    )
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {row["message"]: row["profiles"] for row in rows} == {
        0: ["chart"],
        1: ["concert", "jazz"],
        3: ["concert", "jazz"],
        6: ["chart"],
    }


def test_a_data_frame_says_what_could_not_be_read(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(FIGURE_3_2,), ("<news/>",), (None,)], "payload string")
    profiles = {"near": figure_3_4(40), "far": figure_3_4(5)}
    found = match(frame, profiles, language="semantic", unreadable="why").collect()
    assert [(row.profiles, row.why) for row in found] == [(["near"], None), ([], "no content descriptor"), ([], None)]
