"""Profile files: what is wrong is said once, with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from semcast.model import Schema, SemcastError
from semcast.pipeline.records import read_profiles


def write(path: Path, *records: object) -> Path:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))
    return path


def record(id_: object = "p1", text: object = "x > 1", **more: object) -> dict[str, object]:
    return {"id": id_, "language": "relational", "text": text, **more}


def test_profiles_are_read_in_order(tmp_path: Path) -> None:
    found = read_profiles(write(tmp_path / "p.jsonl", record("b", gateway="g1"), "", record(7)))
    assert [r.id for r in found.records] == ["b", "7"]
    assert found.language.name == "relational"


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_profiles_may_come_as_tables(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"p.{ending}"
    table = pa.table({"id": ["a", "b"], "language": ["relational"] * 2, "text": ["x > 1", "s = 'a,b'"]})
    if ending == "csv":
        path.write_text("id,language,text\na,relational,x > 1\nb,relational,\"s = 'a,b'\"\n")
    else:
        pyarrow.parquet.write_table(table, path)
    assert [(r.id, r.profile.text) for r in read_profiles(path).records] == [("a", "x > 1"), ("b", "s = 'a,b'")]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["{"], ["p.jsonl:1: not JSON"]),
        ([record(), '{"id": "p2", "lang'], ["p.jsonl:2: not JSON"]),
        (["[1]"], ["p.jsonl:1: not a JSON object"]),
        ([record(text="x >")], ["p.jsonl:1: profile 'p1': the profile ends", "  x >", "     ^"]),
        ([record(), record()], ["p.jsonl:2: the id 'p1' is already used in", "p.jsonl:1"]),
        ([record(id_=None)], ['"id" must be a string']),
        ([{"id": "a", "language": "relational"}], ['"text" must be a string']),
        ([{"id": "a", "text": "x > 1"}], ["--language"]),
        ([{"id": "a", "language": "klingon", "text": "x"}], ["'klingon'"]),
        ([], ["holds no profiles"]),
        ([record(f"p{i}", "x >") for i in range(9)], ["9 of 9 profiles", "… and 4 more"]),
    ],
)
def test_errors_name_file_and_line(tmp_path: Path, lines: list[object], words: list[str]) -> None:
    path = write(tmp_path / "p.jsonl", *lines)
    with pytest.raises(SemcastError) as caught:
        read_profiles(path)
    for word in words:
        assert word in str(caught.value)


def test_a_half_written_last_line_is_told_as_such(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps(record()) + '\n{"id": "p2"')
    with pytest.raises(SemcastError, match=r"p\.jsonl:2: not JSON.*middle of this line"):
        read_profiles(path)


def test_missing_and_damaged_files(tmp_path: Path) -> None:
    with pytest.raises(SemcastError, match="no such file"):
        read_profiles(tmp_path / "none.jsonl")
    with pytest.raises(SemcastError, match="is a folder"):
        read_profiles(tmp_path)
    (tmp_path / "p.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(SemcastError, match="cannot be read"):
        read_profiles(tmp_path / "p.parquet")


def test_a_schema_turns_unknown_attributes_into_errors(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", record(text="prise > 1"))
    with pytest.raises(SemcastError, match="did you mean 'price'"):
        read_profiles(path, schema=Schema({"price": "double"}))
