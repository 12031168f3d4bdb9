"""A recorded run on the page: a slider goes through its time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from semcast.dashboard import Recording
from tests.live.http.browser import Page
from tests.web.pages import SHOTS, js, typed
from tests.web.world import Served

pytestmark = pytest.mark.system
SCENARIO = """
name = "a crash"
duration_s = 8
quiet_s = 8
channels = 3
reorganise_s = [5.0]

[topology]
brokers = 9
degree = 3
seed = 4
sources = 1
gateways = 4

[[clients]]
stream = "topics"
count = 6
attach_s = [0, 1]

[[publishers]]
stream = "topics"
rate_hz = 20

[[faults]]
kind = "crash"
party = "b5"
from_s = 3.0
to_s = 6.0
"""


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    (folder / "scenario.toml").write_text(SCENARIO)
    made = [sys.executable, "-m", "semcast", "simulate", "scenario.toml", "--out", "run.jsonl", "--json"]
    subprocess.run(made, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=240)
    return folder / "run.jsonl"


@pytest.fixture(scope="module")
def replayed(journal: Path) -> Iterator[Served]:
    made = Served("--replay", str(journal))
    yield made
    made.stop()


def test_a_recording_counts_what_its_journal_says(journal: Path) -> None:
    lines = [msgspec.json.decode(line) for line in journal.read_bytes().splitlines()[1:]]
    run = Recording(journal)
    sent = sum(len(line["numbers"]) for line in lines if line.get("frame") in ("data", "leg"))
    assert sum(len(crossing.numbers) for crossing in run.between(-1, run.end)) == sent > 0
    assert sum(run.delivered_by(run.end).values()) == sum(line["kind"] == "delivered" for line in lines) > 0
    halfway = [line for line in lines if line["kind"] == "delivered" and line["at"] <= run.end / 2]
    assert sum(run.delivered_by(run.end / 2).values()) == len(halfway)
    assert [run.up(at)["b5"] for at in (2.9, 3.1, 5.9, 6.1)] == [True, False, False, True]


def test_trees_of_a_moment_span_the_gateways_that_are_there(journal: Path) -> None:
    run = Recording(journal)
    gateways = {broker.id for broker in run.topology.brokers if "gateway" in broker.roles}
    trees = run.trees(2.9, 2.0)
    assert trees
    for links in trees.values():
        assert gateways <= {broker for link in links for broker in link}
        assert all(link in run.links for link in links)


def test_the_slider_shows_any_moment_of_the_run(page: Page, replayed: Served) -> None:
    page.open(f"http://{replayed.address}/")
    page.look(1280, 900)
    page.until("document.querySelector('#moment') && document.querySelectorAll('#figures dd').length === 6")
    page.until(js("graph?.xs?.length > 0"))
    for moment, up, down in ((2.0, "9 of 9", False), (4.5, "8 of 9", True)):
        page.run(typed("#moment", str(moment)))
        page.until(f"document.querySelector('#figures dd').textContent === '{up}'")
        page.until(js(f"graph.up.b5 === {str(not down).lower()}"))
    page.screenshot(SHOTS / "replay-1280-light.png")
    assert page.run(js("document.querySelectorAll('[data-channel]').length")) > 1
    at = page.run("document.querySelector('#moment').value")
    assert page.run(js("all('#tabs a', tab => tab.id)")) == [
        "tab-overlay", "tab-channels", "tab-subscribers", "tab-cost", "tab-events",
    ]  # fmt: skip
    for view in ("channels", "subscribers", "cost"):
        page.run(f"location.hash = '{view}'")
        page.until(f"document.querySelector('main section')?.getAttribute('aria-label').toLowerCase() === '{view}'")
    page.run("location.hash = 'events'")
    texts = [event["text"] for event in replayed.json(f"/api/events?at={at}")["events"]]
    page.until(js(f"same(all('#events li', row => row.lastChild.textContent), {msgspec.json.encode(texts).decode()})"))
    assert "b5 crashes" in texts
    assert "b5 starts again" not in texts


def test_a_run_is_played_from_its_beginning(page: Page, replayed: Served) -> None:
    page.open(f"http://{replayed.address}/#cost")
    page.until("document.querySelector('#play') !== null")
    page.run("document.querySelector('#play').click()")
    page.until("+document.querySelector('#moment').value > 0 && +document.querySelector('#moment').value < 10")
    page.until("document.querySelectorAll('.chart path').length > 3")
    page.run("document.querySelector('#play').click()")
    assert page.run("document.querySelector('#play').textContent") == "▶ play"
