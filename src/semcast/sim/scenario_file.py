"""Scenario files: TOML in, a Scenario out, or an error that names the key and what it may be."""

from __future__ import annotations

import re
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

import msgspec

from semcast.model import SemcastError
from semcast.sim.faults import AnyFault
from semcast.sim.scenario import Scenario
from semcast.trees import Topology

_PLACE = re.compile(r"(?P<what>.*?)(?: - at `\$?\.?(?P<key>.*)`)?", re.DOTALL)
_FAULTS = {cls.__struct_config__.tag: cls for cls in get_args(AnyFault)}


def read_scenario(path: Path) -> Scenario:
    """Read a scenario file; a topology file that it names, beside it, comes with it."""
    try:
        given = tomllib.loads(path.read_text())
    except OSError as error:
        raise SemcastError(f"{path}: cannot be read ({error.strerror})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SemcastError(f"{path}: no TOML: {error}") from None
    try:
        return scenario_of(_with_topology(given, path.parent))
    except SemcastError as error:
        raise SemcastError(f"{path}: {error}") from None


def scenario_of(given: dict[str, Any]) -> Scenario:
    """The scenario that these tables mean."""
    _check_keys(given)
    try:
        return msgspec.convert(given, Scenario)
    except msgspec.ValidationError as error:
        raise SemcastError(_told(str(error))) from None


def _with_topology(given: dict[str, Any], folder: Path) -> dict[str, Any]:
    overlay = given.get("topology")
    if not isinstance(overlay, dict) or not isinstance(overlay.get("file"), str):
        return given
    for key in ("kind", "brokers", "degree", "seed"):
        if key in overlay:
            raise SemcastError(f"topology.{key}: not beside topology.file, which says it all")
    file = folder / overlay["file"]
    try:
        text = Topology.from_json(file.read_bytes()).to_json()
    except OSError as error:
        raise SemcastError(f"topology.file: {file} cannot be read ({error.strerror})") from None
    return {**given, "topology": {**overlay, "json": text}}


def _check_keys(given: dict[str, Any]) -> None:
    """msgspec would name an unknown key, but not the known ones."""
    _check_table("", given, Scenario)
    for field in msgspec.structs.fields(Scenario):
        table, default = given.get(field.name), field.default
        parts = [cls for cls in (field.type, *get_args(field.type)) if _is_table(cls)]
        if isinstance(table, dict) and parts:
            _check_table(f"{field.name}.", table, parts[0])
        elif isinstance(table, list) and default is not msgspec.NODEFAULT:
            for at, row in enumerate(table):
                _check_row(f"{field.name}[{at}]", row, parts)


def _check_row(at: str, row: Any, parts: list[Any]) -> None:
    if not isinstance(row, dict):
        return
    if at.startswith("faults"):
        kind = row.get("kind")
        if kind not in _FAULTS:
            said = "is missing" if kind is None else f"there is no {kind!r}"
            raise SemcastError(f"{at}.kind: {said}; there is {', '.join(_FAULTS)}")
        _check_table(f"{at}.", {key: value for key, value in row.items() if key != "kind"}, _FAULTS[kind])
    elif parts:
        _check_table(f"{at}.", row, parts[0])


def _check_table(before: str, table: dict[str, Any], part: Any) -> None:
    known = list(part.__struct_fields__)
    for key in table:
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise SemcastError(f"{before}{key}: there is no such key; {hint}allowed: {', '.join(known)}")


def _is_table(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, msgspec.Struct)


def _told(error: str) -> str:
    """msgspec's words, with the key first."""
    found = _PLACE.fullmatch(error)
    if found is None or not found["key"]:
        return error
    what = found["what"].replace("`", "")
    return f"{found['key']}: {what[0].lower()}{what[1:]}"
