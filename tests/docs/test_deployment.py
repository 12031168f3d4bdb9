"""Several coordinators on hosts of their own, as docs/deployment.md says: loopback addresses, and a real PostgreSQL."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest

import semcast
from tests.docs.blocks import Block, blocks, commands
from tests.docs.stage import PATIENCE_S, Stage
from tests.postgres import Postgres

pytestmark = [pytest.mark.system, pytest.mark.timeout(1800)]
PAGE = "docs/deployment.md"
BROKERS = ("b0", "b1", "b2")
HOSTS = {"c0": "10.0.0.1", "c1": "10.0.0.5"}


def block_of(language: str, mark: str, about: str = "") -> Block:
    (found,) = (one for one in blocks(PAGE) if (one.language, one.mark, one.about) == (language, mark, about))
    return found


def write_files(stage: Stage, store: str) -> None:
    """Each coordinator's host has a folder: the page's file with what is new for several, and its own ``host``."""
    whole = block_of("toml", "file", "/etc/semcast/overlay.toml").text
    new = block_of("toml", "part of a deployment").text
    for name, address in HOSTS.items():
        text = whole
        for table in ("coordinators", "ports"):
            section = re.compile(rf"^\[{table}\]\n(?:(?!\[).*\n?)*", re.MULTILINE)
            added = section.search(new)
            assert added
            text = section.sub(lambda _, part=added[0]: part, text)
        text = text.replace("postgresql://semcast@10.0.0.9/semcast", store).replace("10.0.0.1", address)
        about = f"/etc/semcast/{name}/overlay.toml"
        stage.write(Block(PAGE, 0, "toml", text, "file", about))
        topology = block_of("json", "file", "/etc/semcast/topology.json")
        stage.write(Block(PAGE, 0, "json", topology.text, "file", f"/etc/semcast/{name}/topology.json"))


class Hosts:
    """The processes of the page's commands."""

    def __init__(self, folder: Path, store: str) -> None:
        self.stage = Stage(folder)
        write_files(self.stage, store)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.address = {name: self.stage.translated(f"{host}:7400") for name, host in HOSTS.items()}
        lines = [command.line for command in commands(block_of("sh", "several hosts"))]
        self.lines = {line.split("--name ")[1] if "--name" in line else line.split()[2]: line for line in lines}

    def start(self, *names: str) -> None:
        for name in names:
            self._start(name, self.lines.pop(name))

    def _start(self, name: str, line: str) -> None:
        line = line.replace("/etc/semcast/overlay.toml", f"/etc/semcast/{name}/overlay.toml")
        with (self.stage.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                self.stage.translated(line).split(), env=self.stage.environ, stdout=log, stderr=log
            )

    def leader(self) -> str | None:
        """Who says that it leads, with all brokers; None where nobody does."""
        for name, address in self.address.items():
            try:
                with urlopen(f"http://{address}/statusz", timeout=10) as answer:
                    told = json.loads(answer.read())
                    if told["leads"] and all(told["brokers"].get(broker, {}).get("up") for broker in BROKERS):
                        return name
            except OSError:
                continue
        return None

    def until_leads(self, name: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while self.leader() != name:
            said = {file.name: file.read_text()[-2000:] for file in self.stage.folder.glob("*.log")}
            assert time.monotonic() < end, said
            time.sleep(0.2)

    def close(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(PATIENCE_S)


@pytest.fixture
def hosts(tmp_path: Path, postgres: Postgres) -> Iterator[Hosts]:
    made = Hosts(tmp_path, postgres.url())
    yield made
    made.close()


def test_when_the_host_that_leads_is_lost_the_other_leads_and_what_was_live_stays_live(hosts: Hosts) -> None:
    hosts.start("c0", *BROKERS)
    hosts.until_leads("c0")
    hosts.start("c1")  # brokers find who comes after them, too
    assert not hosts.lines
    both = ",".join(hosts.address.values())
    with semcast.connect_blocking(both) as client:
        wanted = client.subscribe("quotes", "price > 90")
        client.publish("quotes", {"symbol": "IBM", "price": 95.5})
        message = wanted.next(PATIENCE_S)
        assert message is not None
        assert message.json() == {"symbol": "IBM", "price": 95.5}
        hosts.processes["c0"].kill()
        hosts.processes["c0"].wait()
        hosts.until_leads("c1")
        client.publish("quotes", {"symbol": "SAP", "price": 80.5})
        client.publish("quotes", {"symbol": "SAP", "price": 120.5})
        message = wanted.next(PATIENCE_S)
        assert message is not None
        assert message.json() == {"symbol": "SAP", "price": 120.5}
    words = ["semcast", "status", "--url", both]
    done = subprocess.run(words, env=hosts.stage.environ, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    assert "three-sites: masked" in done.stdout
