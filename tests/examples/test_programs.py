"""Every program of examples/ is run as it stands, against the overlay of examples/up.toml."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

import pytest

import semcast
from tests.live.http.browser import browsing

pytestmark = pytest.mark.system
EXAMPLES = Path(__file__).parents[2] / "examples"
LINES = 60


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The overlay of the file, with ports that are free here."""
    folder = tmp_path_factory.mktemp("examples")
    text = (EXAMPLES / "up.toml").read_text().replace("../semcast-data", "data")
    file = folder / "up.toml"
    file.write_text(re.sub(r"^(\w+) = 740\d", r"\1 = 0", text, flags=re.MULTILINE))
    command = [sys.executable, "-m", "semcast", "up", str(file), "--embedded"]
    with (folder / "up.log").open("wb") as log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log) as up:
        assert up.stdout is not None
        line = up.stdout.readline()
        assert line, (folder / "up.log").read_text()[-3000:]
        yield json.loads(line)["addresses"]
        up.terminate()
        assert up.wait(60) == 0


def output(command: list[str], **environ: str) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=os.environ | environ)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_examples_are_short() -> None:
    found = {file.name: len(file.read_text().splitlines()) for file in EXAMPLES.iterdir()}
    assert len(found) >= 7
    assert max(found.values()) < LINES, found


def test_quotes(addresses: dict[str, str]) -> None:
    found = output([sys.executable, str(EXAMPLES / "quotes.py")], SEMCAST_URL=addresses["c0"])
    assert sorted(found) == [
        "anna   IBM at 95.5, volume 300",
        "ben    IBM at 95.5, volume 300",
        "ben    ORC at 85.0, volume 200",
        "carla  IBM at 95.5, volume 300",
        "carla  ORC at 60.0, volume 2000000",
        "carla  SAP at 120.0, volume 500",
    ]


def test_news_goes_on_where_it_was(addresses: dict[str, str]) -> None:
    for _ in range(2):
        found = output([sys.executable, str(EXAMPLES / "news.py")], SEMCAST_URL=addresses["c0"])
        assert [line[:20] for line in found] == ["<story desk='sport'>", "<story desk='money'>"]


def test_charts(addresses: dict[str, str]) -> None:
    found = output([sys.executable, str(EXAMPLES / "charts.py")], SEMCAST_URL=addresses["c0"])
    assert found[:2] == ["correct chart 31007", "correct chart 31110"]
    assert "500 ms were asked for" in found[2]


def test_sensors(addresses: dict[str, str], require_program: Callable[[str], str]) -> None:
    require_program("mosquitto_sub")
    found = output(["sh", str(EXAMPLES / "sensors.sh"), *addresses["b2"].split(":")])
    assert sorted(found) == ["plant/boiler/pressure 7.1", "plant/pump/pressure 3.4"]


def test_browser(addresses: dict[str, str], require_program: Callable[[str], str], tmp_path: Path) -> None:
    handler = partial(SimpleHTTPRequestHandler, directory=str(EXAMPLES))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asked = urlencode({"gateway": addresses["b2"], "profile": "price > 90 AND symbol LIKE 'B%'"})
    with browsing(require_program("chromium"), tmp_path) as page, semcast.connect_blocking(addresses["c0"]) as client:
        page.open(f"http://127.0.0.1:{server.server_address[1]}/browser.html?{asked}")
        page.until("document.body.classList.contains('live')")
        for symbol, price in (("BMW", 91.5), ("BMW", 80.0), ("IBM", 99.0), ("BAS", 120.0)):
            client.publish("quotes", {"symbol": symbol, "price": price})
        page.until("document.querySelectorAll('li').length === 2")
        shown = page.run("[...document.querySelectorAll('li')].map(line => line.textContent)")
        assert shown == ["BMW at 91.5", "BAS at 120"]
    server.shutdown()


@pytest.mark.spark
def test_planning(tmp_path: Path) -> None:
    near = str(Path(sys.executable).parent)
    found = output(["sh", str(EXAMPLES / "planning.sh"), str(tmp_path)], PATH=f"{near}:{os.environ['PATH']}")
    cost = json.loads(found[-1])
    assert cost["plan"] <= cost["spt"] <= cost["unicast"]
    assert cost["missed"] == 0
