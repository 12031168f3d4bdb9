"""The layer law is only as good as its list of packages, and an installation as its list of dependencies."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CORE = {"model", "profiles", "matching", "channels", "trees", "planning", "protocol"}


def settings() -> dict[str, Any]:
    with open(ROOT / "pyproject.toml", "rb") as file:
        return tomllib.load(file)


def contract(name: str) -> dict[str, Any]:
    contracts = settings()["tool"]["importlinter"]["contracts"]
    (found,) = (contract for contract in contracts if contract["name"].startswith(name))
    return dict(found)


def packages() -> set[str]:
    return {path.parent.name for path in (ROOT / "src" / "semcast").glob("*/__init__.py")}


def test_every_package_of_the_core_is_held_to_be_pure() -> None:
    listed = {name.removeprefix("semcast.") for name in contract("Pure core")["source_modules"]}
    assert listed == CORE & packages()


def test_every_package_has_a_layer() -> None:
    layers = contract("Layers")["layers"]
    assert packages() <= {name.strip(" ()") for layer in layers for name in layer.split("|")}


def test_everything_imported_is_a_declared_dependency() -> None:
    project = settings()["project"]
    declared = [
        *project["dependencies"],
        *(name for extra in project["optional-dependencies"].values() for name in extra),
    ]
    names = {re.split(r"[^a-zA-Z0-9_-]", requirement)[0] for requirement in declared} - {"semcast"}
    brought = {"py4j", "llvmlite"}  # pyspark's and numba's, and in their versions
    assert set(imported()) - names - brought - sys.stdlib_module_names == {"semcast"}


def imported() -> Iterator[str]:
    """The top-level names that modules of semcast import, in functions too."""
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]
