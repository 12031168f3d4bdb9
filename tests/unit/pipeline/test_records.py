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


def xpath(id_: str, text: str, **more: object) -> dict[str, object]:
    return {"id": id_, "language": "xpath", "text": text, **more}


def test_a_record_says_what_its_prefixes_mean(tmp_path: Path) -> None:
    path = write(
        tmp_path / "p.jsonl",
        xpath("own", "n:a", namespaces={"n": "urn:own"}),
        xpath("common", "n:a"),
        xpath("both", "n:a/m:b", namespaces={"m": "urn:m"}),
        xpath("none", "a", namespaces=None),
    )
    found = read_profiles(path, namespaces={"n": "urn:common"}).records
    assert [str(r.profile) for r in found] == [
        "/Q{urn:own}a",
        "/Q{urn:common}a",
        "/Q{urn:common}a/Q{urn:m}b",
        "/a",
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ["'n' has no namespace", "--namespace n=", '"namespaces"']),
        ({"namespaces": ["n"]}, ['"namespaces" is from prefixes to namespaces']),
        ({"namespaces": "{"}, ['"namespaces" is from prefixes to namespaces']),
        ({"namespaces": {"n": 5}}, ["from text to text"]),
        ({"namespaces": {"": "urn:x"}}, ["cannot be a prefix"]),
    ],
)
def test_a_prefix_without_meaning_is_told_with_its_place(tmp_path: Path, given: object, words: list[str]) -> None:
    assert isinstance(given, dict)
    path = write(tmp_path / "p.jsonl", xpath("p", "n:a", **given))
    with pytest.raises(SemcastError) as caught:
        read_profiles(path)
    for word in ["p.jsonl:1: profile 'p'", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize("kind", ["map", "struct", "csv"])
def test_namespaces_may_come_in_tables(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ("p.csv" if kind == "csv" else "p.parquet")
    if kind == "csv":
        path.write_text('id,language,text,namespaces\nx,xpath,n:a,"{""n"": ""urn:n""}"\ny,xpath,a,\n')
    else:
        value = [("n", "urn:n")] if kind == "map" else {"n": "urn:n", "m": None}
        type_ = pa.map_(pa.string(), pa.string()) if kind == "map" else pa.struct({"n": pa.string(), "m": pa.string()})
        columns = {"id": ["x", "y"], "language": ["xpath"] * 2, "text": ["n:a", "a"]}
        pyarrow.parquet.write_table(pa.table({**columns, "namespaces": pa.array([value, None], type_)}), path)
    assert [str(r.profile) for r in read_profiles(path).records] == ["/Q{urn:n}a", "/a"]


def test_namespaces_mean_nothing_to_other_languages(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", record(namespaces={"n": "urn:n"}))
    assert len(read_profiles(path, namespaces={"m": "urn:m"}).records) == 1
