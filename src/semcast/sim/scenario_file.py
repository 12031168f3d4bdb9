"""Scenario files: TOML in, a Scenario out, or an error that names the line, the key and what it may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from semcast.files import read_tables
from semcast.model.tables import typed
from semcast.sim.scenario import Scenario


def read_scenario(path: Path) -> Scenario:
    """Read a scenario file; a topology file that it names, beside it, comes with it."""
    return read_tables(path, scenario_of)


def scenario_of(given: dict[str, Any]) -> Scenario:
    """The scenario that these tables mean."""
    return typed(given, Scenario)
