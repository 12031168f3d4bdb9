"""Files that people write, read for those who know what they mean; errors name the file and the line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from semcast.model import SemcastError
from semcast.model.tables import TableError, located, read_toml
from semcast.trees.declared import topology_file, with_topology

T = TypeVar("T")


def read_tables(path: Path, meaning: Callable[[dict[str, Any]], T]) -> T:
    """Read a TOML file and return what ``meaning`` makes of it. A topology file that it names is read too."""
    try:
        text = path.read_text()
    except OSError as error:
        raise SemcastError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise SemcastError(f"{path}: no TOML: {error}") from None
    try:
        return meaning(_with_topology(read_toml(text), path.parent))
    except SemcastError as error:
        raise located(error, path, text) from None


def _with_topology(given: dict[str, Any], folder: Path) -> dict[str, Any]:
    named = topology_file(given)
    if named is None:
        return given
    file = folder / named
    try:
        return with_topology(given, file.read_bytes())
    except OSError as error:
        raise TableError("topology.file", f"{file} cannot be read ({error.strerror})") from None
