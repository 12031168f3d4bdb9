"""The layer law is only as good as its list of packages, and an installation as its list of dependencies.

Tests keep a law of their own: what two of them share is in a module that holds no tests.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
        for name in imports_of(path.read_text()):
            if not name.startswith("."):
                yield name.partition(".")[0]


def imports_of(program: str) -> Iterator[str]:
    """All that a program imports: ``a.b`` of ``import a.b``, ``a.b.c`` of ``from a.b import c``."""
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ("." * node.level + f"{node.module or ''}.{alias.name}" for alias in node.names)


def imported_test_modules(program: str) -> list[str]:
    return [name for name in imports_of(program) if any(part.startswith("test_") for part in name.split("."))]


def test_no_module_imports_a_test_module() -> None:
    """Else a fixture of one becomes a fixture of the other, and a failure there hides the tests here."""
    found = {path: imported_test_modules(path.read_text()) for path in (ROOT / "tests").rglob("*.py")}
    assert len(found) > 300
    assert {str(path.relative_to(ROOT)): names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "program",
    [
        "from tests.laws.test_change_laws import topologies",
        "from tests.laws import overlays, test_change_laws",
        "import tests.laws.test_change_laws as laws",
        "from .test_change_laws import topologies",
        "def late():\n    from tests.laws.test_change_laws import topologies",
    ],
)
def test_every_way_to_import_a_test_module_is_seen(program: str) -> None:
    assert imported_test_modules(program)
    assert not imported_test_modules(program.replace("test_change_laws", "overlays"))
