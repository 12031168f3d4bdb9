"""`semcast simulate` as a person meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from semcast.protocol.client.subscriber import Subscriber
from semcast.protocol.contract import Command, Event
from semcast.protocol.results import Delivered
from tests.unit.cli.runs import Run

SMALL = """
duration_s = 5
quiet_s = 5
scheme = "spt"
[topology]
brokers = 4
gateways = 2
[[clients]]
stream = "topics"
count = 3
attach_s = [0, 0.2]
[[publishers]]
stream = "topics"
from_s = 2
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


def test_a_run_that_keeps_all_laws_says_so(run: Run, small: Path) -> None:
    code, text, err = run("simulate", str(small))
    assert code == 0
    assert "messages published" in text
    assert err.splitlines()[-1].startswith("all laws held: ")


def test_the_report_is_json(run: Run, small: Path) -> None:
    code, text, _ = run("simulate", str(small), "--seed", "3", "--json")
    found = json.loads(text)
    assert code == 0
    assert (found["seed"], found["simulated_s"], found["violations"]) == (3, 10.0, [])
    assert found["counts"]["acked"] == found["counts"]["published"] > 10
    assert found["meters"]["transmissions"] == sum(found["meters"]["links"].values())


def test_a_journal_is_the_same_run_again(run: Run, small: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    _, _, err = run("simulate", str(small), "--out", str(out))
    assert err.splitlines()[-1].endswith(f"written to {out}")
    lines = out.read_text().splitlines()
    code, _, err = run("simulate", "--replay", str(out))
    assert (code, err.splitlines()[-1]) == (0, f"the same run: {len(lines):,} lines, byte for byte")
    lines[20] = '{"at": 0}'
    out.write_text("\n".join(lines) + "\n")
    code, text, err = run("simulate", "--replay", str(out), "--json")
    assert code == 1
    assert json.loads(text)["difference"]["line"] == 21
    assert 'line 21 differs\n  was {"at": 0}\n  now {"at":' in err


def test_a_broken_law_is_listed_and_ends_with_1(run: Run, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = Subscriber.handle

    def deaf(self: Subscriber, event: Event, now: float) -> list[Command]:
        found = plain(self, event, now)
        return [command for command in found if not isinstance(command, Delivered)]

    monkeypatch.setattr(Subscriber, "handle", deaf)
    code, text, err = run("simulate", str(small))
    assert code == 1
    assert "nothing is missed" in text
    assert "VIOLATIONS: 0 deliveries" in err.splitlines()[-1]
    code, text, err = run("simulate", str(small), "--runs", "2")
    assert code == 1
    assert "2 runs broke a law" in text
    assert err.splitlines()[-1].startswith("0 of 2 runs kept all laws; look at one with: semcast simulate ")


def test_many_seeds_run_on_all_cores(run: Run, small: Path) -> None:
    code, text, err = run("simulate", str(small), "--runs", "5", "--json")
    assert code == 0
    assert json.loads(text) == {"runs": 5, "broken": []}
    assert err.splitlines()[-1] == "5 of 5 runs kept all laws"


def test_what_does_not_go_together_is_refused(run: Run, small: Path, tmp_path: Path) -> None:
    journal = str(tmp_path / "j")
    assert "--replay goes alone" in run("simulate", str(small), "--replay", journal)[2]
    assert "--out goes with a single run" in run("simulate", "--runs", "2", "--out", journal)[2]
    assert "cannot be read" in run("simulate", "--replay", journal)[2]
    assert "cannot be written" in run("simulate", str(small), "--out", str(tmp_path / "no" / "file"))[2]
    small.write_text("scheme = 'best'")
    code, _, err = run("simulate", str(small))
    assert code == 1
    assert err.splitlines()[-1].startswith(f"error: {small}:1: scheme: there is no 'best'; there is masked")
