"""Blocks that are no programs are given to what reads them: deployments, profiles, topologies, descriptors, units."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from itertools import takewhile
from typing import Any

import click
import numpy as np
import pyarrow as pa
import typer
from websockets.sync.client import connect

import semcast
from semcast.cli import _register, app
from semcast.pipeline.records import read_profiles
from semcast.server.config import read_config
from semcast.trees.topology import Topology
from tests.docs.blocks import ROOT, Block, as_shown, commands
from tests.docs.stage import PATIENCE_S, Stage

_ROW = re.compile(r"\| `(.+?)` \| (yes|no) \|")
_LEAST = '[streams.least]\nlanguage = "topic"\n'


def read_deployment(block: Block, stage: Stage) -> None:
    """A whole file, or a part of one that the least there is completes."""
    text = stage.translated(block.text)
    if block.mark != "deployment" and "[streams." not in text:
        text += _LEAST
    file = stage.folder / f"deployment{block.line}.toml"
    file.write_text(text)
    read_config(file)


def read_profile(block: Block, stage: Stage) -> None:
    file = stage.folder / f"profiles{block.line}.jsonl"
    file.write_text(block.text)
    assert len(read_profiles(file, None, None, {}).records) == len(block.text.splitlines()), str(block)


def read_topology(block: Block, stage: Stage) -> None:
    Topology.from_json(block.text)


def read_interest(block: Block, stage: Stage) -> None:
    """An interest profile, in either notation; all that a page shows are the same one."""
    found = semcast.language("semantic").parse(block.text)
    assert stage.names.setdefault("interest", found) == found, f"{block} is not the profile that the page shows before"


def read_descriptor(block: Block, stage: Stage) -> None:
    language = semcast.language("semantic")
    anything = language.matcher([language.parse("anything")])
    assert list(anything.match(pa.table({"payload": [block.text]})).of(0)) == [0], str(block)


def converse(block: Block, stage: Stage) -> None:
    """Say what clients say over a WebSocket, and hear what the page says they hear, in that order."""
    said = ("subscribe", "publish", "replace", "unsubscribe", "ack")
    with connect(f"ws://127.0.0.1:{stage.translated('7402')}/v1/ws") as socket:
        for line in block.text.splitlines():
            if line.startswith(tuple(f'{{"{verb}":' for verb in said)):
                socket.send(line)
                continue
            heard = json.loads(socket.recv(PATIENCE_S))
            while "cursor" in heard:  # it moves on where nothing matches, too
                heard = json.loads(socket.recv(PATIENCE_S))
            told = json.dumps(heard, ensure_ascii=False)
            assert as_shown(line, told), f"{block}\n{line}\n{told}"


_PAGES = {"docs/relational.md": "relational", "docs/topics.md": "topic", "docs/xpath.md": "xpath"}


def match_table(block: Block, stage: Stage) -> None:
    """A message, and below it a table of profiles that says of each whether it matches."""
    name = _PAGES.get(block.page, "semantic")
    behind = (ROOT / block.page).read_text().splitlines()[block.line :]
    rows = [line for line in takewhile(lambda line: not line.startswith("```python"), behind) if _ROW.match(line)]
    said = {found[1].replace("\\|", "|"): found[2] == "yes" for found in map(_ROW.match, rows) if found}
    check_matches(name, block.text.strip(), said, str(block))


def check_matches(name: str, message: str, said: dict[str, bool], where: str) -> None:
    """Does each profile match the message, or not, as it is said? Both must occur."""
    language = semcast.language(name)
    before = "prefix d <urn:concerts>; " if name == "semantic" else ""
    column = {"topic": "topic", "relational": ""}.get(name, "payload")
    batch = pa.table({column: [message]}) if column else pa.Table.from_pylist([json.loads(message)])
    matcher = language.matcher([language.parse(before + text) for text in said])
    found = dict(zip(said, np.isin(np.arange(len(said)), matcher.match(batch).of(0)).tolist(), strict=True))
    assert found == said, f"{where}: { ({text for text in said if found[text] != said[text]}) } are otherwise"
    assert len(said) >= 8, where
    assert set(said.values()) == {True, False}, where


def read_unit(block: Block, stage: Stage) -> None:
    """A systemd unit: its sections, and a program with options that exist."""
    unit = configparser.ConfigParser(strict=False, interpolation=None, comment_prefixes=("#",))
    unit.optionxform = str  # type: ignore[assignment]
    unit.read_string(block.text)
    assert set(unit.sections()) == {"Unit", "Service", "Install"}, str(block)
    program, _, words = unit["Service"]["ExecStart"].partition(" ")
    assert program.endswith("/semcast"), str(block)
    check_options(f"semcast {words}", str(block))
    _verify_unit(block, stage, program)


def _verify_unit(block: Block, stage: Stage, program: str) -> None:
    """Ask systemd itself, where it is: it says what it does not know, and does not fail for it."""
    systemd = shutil.which("systemd-analyze")
    if systemd is None:
        return
    named = re.search(r"/etc/systemd/system/(\S+\.service)", block.text)
    assert named, f"{block} does not say where it goes"
    file = stage.folder / named[1]
    there = shutil.which("true")  # the program of the page is not installed here, nor may a path of ours have blanks
    assert there is not None
    file.write_text(block.text.replace(program, there))
    done = subprocess.run([systemd, "verify", file], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout + done.stderr) == (0, ""), f"{block}\n{done.stdout}{done.stderr}"


def check_commands(block: Block, stage: Stage) -> None:
    """Commands of several hosts at a time; tests/docs/test_deployment.py runs them."""
    for command in commands(block):
        check_options(command.line, str(block))


def check_options(line: str, where: str) -> None:
    """Does a command of ours exist, with the options that a page gives it?"""
    words = shlex.split(re.sub(r"\s[|<>].*", "", line), comments=True)
    known = options()
    assert len(words) > 1, where
    assert words[1] in known, f"{where}: there is no semcast {words[1]}"
    unknown = {word.split("=")[0] for word in words[2:] if word.startswith("--")} - known[words[1]]
    assert not unknown, f"{where}: semcast {words[1]} has no {', '.join(sorted(unknown))}"


@cache
def options() -> dict[str, set[str]]:
    """Command → all options that it takes."""
    _register()
    group: Any = typer.main.get_command(app)
    assert isinstance(group, click.Group) or hasattr(group, "commands")
    found = {}
    for name, command in group.commands.items():
        taken = {text for option in command.params for text in (*option.opts, *option.secondary_opts)}
        found[name] = {*taken, "--help"}
    return found


READERS: dict[tuple[str, str], Callable[[Block, Stage], None]] = {
    ("toml", "deployment"): read_deployment,
    ("toml", "part of a deployment"): read_deployment,
    ("json", "profile"): read_profile,
    ("json", "topology"): read_topology,
    ("json", "websocket"): converse,
    ("xml", "interest"): read_interest,
    ("text", "interest"): read_interest,
    ("xml", "descriptor"): read_descriptor,
    ("ini", "unit"): read_unit,
    ("sh", "several hosts"): check_commands,
    **{(language, "message"): match_table for language in ("json", "text", "xml")},
}
