"""`semcast match` as a process: files in, one file out, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.system]
SEMCAST = str(Path(sys.executable).with_name("semcast"))


def write(path: Path, *lines: object) -> str:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return str(path)


def profile(id_: str, text: str) -> dict[str, str]:
    return {"id": id_, "language": "relational", "text": text}


def test_match_reads_two_files_and_writes_one(tmp_path: Path) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    profiles = write(folder / "p.jsonl", profile("p1", "x > 1"), profile('"quoted"', "s LIKE 'ü%'"))
    messages = write(folder / "m.jsonl", {"x": 1}, "not JSON", {"x": 2, "s": "übung"}, {"x": "2"})
    out = folder / "out.jsonl"
    command = [SEMCAST, "match", "--language", "relational", "--profiles", profiles, "--messages", messages]
    done = subprocess.run([*command, "--out", str(out), "--json"], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in out.read_text().splitlines()] == [
        {"message": 2, "profiles": ["p1", '"quoted"']}
    ]
    told = json.loads(done.stdout)
    assert (told["messages"], told["bad"], told["first_bad"], told["unfit"], told["pairs"]) == (4, 1, [1], {"x": 1}, 2)
    assert "1 of 4 messages could not be read and were left out (rows 1)" in done.stderr
    assert "1 values of 'x'" in done.stderr
    assert "WARN" not in done.stderr
    assert f"written to {out}" in done.stderr.splitlines()[-1]
    assert sorted(p.name for p in folder.iterdir()) == ["m.jsonl", "out.jsonl", "p.jsonl"]


def test_ctrl_c_ends_it_without_a_traceback_or_a_half_written_result(tmp_path: Path) -> None:
    profiles = write(tmp_path / "p.jsonl", *(profile(f"p{i}", f"x > {i % 100}") for i in range(200)))
    with (tmp_path / "m.jsonl").open("w") as file:
        file.writelines(f'{{"x": {i % 100}}}\n' for i in range(1_500_000))
    command = [
        SEMCAST,
        "match",
        "--profiles",
        profiles,
        "--messages",
        str(tmp_path / "m.jsonl"),
        "--out",
        str(tmp_path / "out.jsonl"),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    seen = ""
    while "matching" not in seen:
        line = process.stderr.readline()
        assert line, f"it ended early: {seen}"
        seen += line
    while not any((tmp_path / ".out.jsonl.parts").rglob("part-*")):  # which the job's first task writes to
        assert process.poll() is None, "it ended early"
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, rest = process.communicate(timeout=120)
    assert process.returncode == 130, seen + rest
    assert "Traceback" not in rest
    assert "error: interrupted" in rest
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.jsonl", "p.jsonl"]


def test_hostile_xml_is_counted_and_costs_no_other_line_its_matches(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    entities = "".join(f"<!ENTITY e{i} '{f'&e{i - 1};' * 10}'>" for i in range(1, 10))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/x.dtd"
        payloads = [
            "<n:a xmlns:n='urn:n'>one</n:a>",
            f"<!DOCTYPE a [<!ENTITY e0 'ten bytes.'>{entities}]><a>&e9;</a>",
            f"<!DOCTYPE a [<!ENTITY e SYSTEM '{secret.as_uri()}'>]><a>&e;</a>",
            f"<!DOCTYPE a [<!ENTITY e SYSTEM '{url}'>]><a>&e;</a>",
            f"<!DOCTYPE a [<!ENTITY % e SYSTEM '{url}'> %e;]><a/>",
            "<a>" * 100_000 + "</a>" * 100_000,
            "<a>secret</a>",
            None,
        ]
        lines = [json.dumps({"payload": payload}) for payload in payloads]
        broken = '{"payload": "<a>\udcff</a>"}'  # not UTF-8
        (tmp_path / "m.jsonl").write_text("\n".join([*lines, broken, lines[0]]), "utf-8", "surrogateescape")
        texts = {"n": "/n:a", "secret": "contains(/a, 'secret')"}
        profiles = write(
            tmp_path / "p.jsonl", *({"id": i, "language": "xpath", "text": text} for i, text in texts.items())
        )
        command = [SEMCAST, "match", "--language", "xpath", "--namespace", "n=urn:n", "--profiles", profiles]
        words = ["--messages", str(tmp_path / "m.jsonl"), "--out", str(tmp_path / "out.jsonl"), "--json"]
        done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=240)
        listener.settimeout(0.2)
        with pytest.raises(TimeoutError):
            listener.accept()
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert found == [
        {"message": 0, "profiles": ["n"]},
        {"message": 6, "profiles": ["secret"]},
        {"message": 9, "profiles": ["n"]},
    ]
    told = json.loads(done.stdout)
    assert (told["messages"], told["unreadable"], told["missing"], told["bad"]) == (10, 5, 1, 1)
    assert told["first_unreadable"] == [1, 2, 3, 4, 5]
    assert "5 payloads could not be read and match nothing" in done.stderr
    assert "5 unreadable, 1 without payload" in done.stderr.splitlines()[-1]
