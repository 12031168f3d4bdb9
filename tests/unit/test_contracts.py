"""The layer law is only as good as its list of packages."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CORE = {"model", "observe", "profiles", "matching", "channels", "trees", "planning", "protocol"}


def contract(kind: str) -> dict[str, Any]:
    with open(ROOT / "pyproject.toml", "rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (found,) = (contract for contract in contracts if contract["type"] == kind)
    return dict(found)


def packages() -> set[str]:
    return {path.parent.name for path in (ROOT / "src" / "semcast").glob("*/__init__.py")}


def test_every_package_of_the_core_is_held_to_be_pure() -> None:
    listed = {name.removeprefix("semcast.") for name in contract("forbidden")["source_modules"]}
    assert listed == CORE & packages()


def test_every_package_has_a_layer() -> None:
    layers = contract("layers")["layers"]
    assert packages() <= {name.strip(" ()") for layer in layers for name in layer.split("|")}
