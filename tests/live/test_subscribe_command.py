"""``semcast subscribe --profiles``: many profiles of a file, as a person uses it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from semcast.client import connect_blocking
from tests.live.commands import semcast
from tests.live.overlays import CALM, written
from tests.pipeline.overlays import running

pytestmark = pytest.mark.system
MANY = 150
NEWS = """
[streams.news]
language = "xpath"
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = written(tmp_path_factory.mktemp("command"), brokers=4, gateways=2, settings=CALM, more=NEWS)
    with running(file) as addresses:
        yield "semcast://" + addresses["c0"]


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


class Watching:
    """The command while it runs; ``live`` returns when its subscriptions are."""

    def __init__(self, url: str, *words: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "semcast", "subscribe", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "SEMCAST_URL": url, "COLUMNS": "200"},
        )  # fmt: skip
        self.said: list[str] = []

    def live(self) -> Watching:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.said.append(line.rstrip("\n"))
            if "live" in line:
                return self
        raise AssertionError(f"it never was live: {self.said}")

    def next(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def end(self) -> tuple[int, list[dict[str, Any]], str]:
        out, err = self._process.communicate(timeout=60)
        return self._process.returncode, [json.loads(line) for line in out.splitlines()], err


def test_each_line_names_its_profile_and_bad_profiles_are_named_with_their_line(url: str, tmp_path: Path) -> None:
    profiles = lines(
        tmp_path / "p.jsonl",
        *({"id": f"p{n}", "language": "relational", "text": f"price > {n}"} for n in range(MANY)),
        {"id": "typo", "text": "prise > 1"},
        "{no json",
        {"id": "p3", "text": "price > 3"},
        {"id": 7, "text": "symbol = 'é'", "max_delay_ms": 5000},
        {"id": "x", "language": "xpath", "text": "/a"},
        {"id": "else", "stream": "topics", "language": "topic", "text": "a"},
        {"text": "price > 1"},
        {"id": "late", "text": "price > 1", "max_delay_ms": "soon"},
    )
    watching = Watching(url, "quotes", "--profiles", str(profiles), "--count", "103", "--timeout", "60").live()
    said = "\n".join(watching.said)
    assert f"{profiles}:{MANY + 1}: profile 'typo': unknown attribute 'prise'" in said
    assert "did you mean 'price'?" in said
    assert f"{profiles}:{MANY + 2}: not JSON" in said
    assert f"{profiles}:{MANY + 3}: the id 'p3' is already used in {profiles}:4" in said
    assert f"{profiles}:{MANY + 5}: profile 'x' is xpath, and the stream relational" in said
    assert f'{profiles}:{MANY + 7}: "id" must be a string' in said
    assert f"{profiles}:{MANY + 8}: profile 'late': \"max_delay_ms\" must be a number above 0" in said
    assert "1 profiles of other streams are left out" in said
    assert watching.said[-1] == f"{MANY + 1} subscriptions are live; 6 profiles cannot be used"
    with connect_blocking(url) as client:
        client.publish("quotes", '{"symbol": "é",\n "price": 0.5}')
        client.publish("quotes", {"symbol": "b", "price": 99.5})
        client.publish("quotes", {"symbol": "é", "price": -1})
    code, found, _ = watching.end()
    assert code == 0
    small, large, negative = {"symbol": "é", "price": 0.5}, {"symbol": "b", "price": 99.5}, {"symbol": "é", "price": -1}
    expected = [("p0", small), ("7", small), *((f"p{n}", large) for n in range(100)), ("7", negative)]
    assert sorted((line["profile"], line["message"]["price"]) for line in found) == sorted(
        (id_, message["price"]) for id_, message in expected
    )
    assert all((line["profile"], line["message"]) in expected for line in found)


def test_other_streams_show_payload_and_topic_and_json_shows_all(url: str, tmp_path: Path) -> None:
    topics = lines(tmp_path / "t.jsonl", {"id": "a", "text": "cli/a"}, {"id": "b", "text": "cli/b"})
    watching = Watching(url, "topics", "--profiles", str(topics), "--count", "1").live()
    full = Watching(url, "topics", "--profiles", str(topics), "--count", "1", "--json").live()
    news = lines(tmp_path / "n.jsonl", {"id": "n", "text": "/n:story", "namespaces": {"n": "urn:news"}})
    told = Watching(url, "news", "--profiles", str(news), "--count", "1").live()
    with connect_blocking(url) as client:
        client.publish("topics", b"\xff", topic="cli/b")
        client.publish("news", "<story/>")
        client.publish("news", '<story xmlns="urn:news"/>')
    assert watching.end()[1] == [{"profile": "b", "message": {"topic": "cli/b", "payload": "\\xff"}}]
    ((line,),) = [full.end()[1]]
    assert line["profile"] == "b"
    assert set(line["message"]) == {"id", "stream", "topic", "key", "headers", "time_ms", "payload"}
    assert told.end()[1] == [{"profile": "n", "message": {"payload": '<story xmlns="urn:news"/>'}}]


def test_ctrl_c_ends_it_and_durable_sessions_go_on_where_they_were(url: str, tmp_path: Path) -> None:
    profiles = lines(tmp_path / "p.jsonl", {"id": "a", "text": "post/a"}, {"id": "b", "text": "post/b"})
    words = ("topics", "--profiles", str(profiles), "--session", "cli", "--ordered")
    watching = Watching(url, *words).live()
    with connect_blocking(url) as client:
        client.publish("topics", "1", topic="post/a")
        assert watching.next()["message"]["payload"] == "1"
        watching.interrupt()
        code, rest, err = watching.end()
        assert (code, rest, err.splitlines()[-1]) == (130, [], "error: interrupted")
        assert "Traceback" not in err
        client.publish("topics", "2", topic="post/a")
        client.publish("topics", "3", topic="post/b")
    again = Watching(url, *words, "--timeout", "3")
    code, found, _ = again.end()
    assert code == 0
    assert {(line["profile"], line["message"]["payload"]) for line in found} >= {("a", "2"), ("b", "3")}


def test_it_fails_where_no_profile_can_be_used_or_none_is_given(url: str, tmp_path: Path) -> None:
    bad = lines(tmp_path / "bad.jsonl", {"id": "a", "text": "prise > 1"}, {"id": "b", "text": "price >"})

    async def all_of_them() -> list[subprocess.CompletedProcess[str]]:
        words = [
            ("quotes", "--profiles", str(bad)),
            ("quotes", "--profiles", str(tmp_path / "no.jsonl")),
            ("quots", "--profiles", str(bad)),
            ("quotes",),
            ("quotes", "price > 1", "--profiles", str(bad)),
        ]
        return [await semcast("subscribe", *given, url=url) for given in words]

    none, missing, stream, neither, both = asyncio.run(all_of_them())
    assert (none.returncode, none.stdout) == (1, "")
    assert "none of the profiles can be used on stream 'quotes'" in none.stderr
    assert f"{bad}:1: profile 'a'" in none.stderr
    assert f"{bad}:2: profile 'b'" in none.stderr
    assert (missing.returncode, "no such file" in missing.stderr) == (1, True)
    assert (stream.returncode, "did you mean 'quotes'?" in stream.stderr) == (1, True)
    for said in (neither, both):
        assert said.returncode == 2
        assert "give a PROFILE, or a file of them with --profiles" in said.stderr.replace("\n", " ")
