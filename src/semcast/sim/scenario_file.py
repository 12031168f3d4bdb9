"""Scenario files: TOML in, a Scenario out, or an error that names the line, the key and what it may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from semcast.model import SemcastError
from semcast.model.tables import TableError, located, read_toml, typed
from semcast.sim.scenario import Scenario
from semcast.trees.declared import topology_file, with_topology


def read_scenario(path: Path) -> Scenario:
    """Read a scenario file; a topology file that it names, beside it, comes with it."""
    try:
        text = path.read_text()
    except OSError as error:
        raise SemcastError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise SemcastError(f"{path}: no TOML: {error}") from None
    try:
        return scenario_of(_with_topology(read_toml(text), path.parent))
    except SemcastError as error:
        raise located(error, path, text) from None


def scenario_of(given: dict[str, Any]) -> Scenario:
    """The scenario that these tables mean."""
    return typed(given, Scenario)


def _with_topology(given: dict[str, Any], folder: Path) -> dict[str, Any]:
    named = topology_file(given)
    if named is None:
        return given
    file = folder / named
    try:
        return with_topology(given, file.read_bytes())
    except OSError as error:
        raise TableError("topology.file", f"{file} cannot be read ({error.strerror})") from None
