"""ARCHITECTURE.md leads where it says: every file, and every function of its walks, is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT

TEXT = (ROOT / "ARCHITECTURE.md").read_text()
PLACE = re.compile(r"`([a-z_/0-9]+\.py)(?::([A-Za-z_.]+))?`")
WALKS = ["A message", "A subscription", "A micro-batch", "A reorganisation"]


def defined(file: Path) -> set[str]:
    """Functions and classes of a module, and the methods of its classes, by dotted names."""
    found: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            inside = [n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
            found |= {f"{node.name}.{method.name}" for method in inside}
    return found


def lost(text: str) -> list[str]:
    """Places that lead nowhere."""
    wrong = []
    for path, name in PLACE.findall(text):
        file = ROOT / "src" / "semcast" / path
        if not file.is_file():
            wrong.append(path)
        elif name and name not in defined(file):
            wrong.append(f"{path}:{name}")
    return wrong


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)^## ", TEXT, re.MULTILINE | re.DOTALL)
    assert found is not None, title
    return found[1]


def test_every_place_that_is_named_exists() -> None:
    assert lost(TEXT) == []


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_has_at_least_ten_steps_each_a_function(title: str) -> None:
    steps = re.findall(r"^\d+\. `([^`]+)`", section(title), re.MULTILINE)
    assert len(steps) >= 10
    assert all(PLACE.fullmatch(f"`{step}`") and ":" in step for step in steps)


def test_every_package_has_its_room() -> None:
    packages = {path.parent.name for path in (ROOT / "src" / "semcast").glob("*/__init__.py")}
    rooms = set(
        re.findall(
            r"`([a-z]+)`", "".join(line.split("|")[1] for line in section("Rooms").splitlines() if line.startswith("|"))
        )
    )
    assert packages <= rooms


def test_a_place_that_is_gone_is_noticed() -> None:
    assert lost("`planning/gone.py` `planning/changes.py:gone` `planning/changes.py:worth_it`") == [
        "planning/gone.py",
        "planning/changes.py:gone",
    ]
