"""Files that people write, read for those who know what they mean; errors name the file and the line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from semcast.model import ProfileError, SemcastError
from semcast.model.tables import TableError, located, read_toml
from semcast.trees.declared import topology_file, with_topology

T = TypeVar("T")
_MAX_FILE_BYTES = 1 << 32
_TEXT = ("id", "stream", "language", "text", "gateway", "subscriber", "namespaces")
Row = dict[str, Any]


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


def profile_rows(path: Path) -> Iterator[tuple[str, Row | SemcastError]]:
    """The rows of a profiles file (JSON Lines, CSV or Parquet), each with its place: what it says, or why it cannot be
    read. SemcastError where the whole file cannot be.
    """
    if not path.exists():
        raise SemcastError(f"{path}: no such file")
    if path.is_dir():
        raise SemcastError(f"{path}: is a folder; profiles are read from one file")
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise SemcastError(f"{path}: is larger than {_MAX_FILE_BYTES:,} bytes")
    return _table_rows(path) if path.suffix in (".parquet", ".csv") else _json_rows(path)


def _table_rows(path: Path) -> Iterator[tuple[str, Row | SemcastError]]:
    import pyarrow as pa

    try:
        table = _table(path)
    except (pa.ArrowException, OSError) as error:
        raise SemcastError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from error
    for name in ("id", "text"):
        if name not in table.column_names:
            raise SemcastError(f"{path}: has no column {name!r}; it has {', '.join(table.column_names)}")
    for at, row in enumerate(table.to_pylist()):
        yield f"{path}: row {at}", {key: value for key, value in row.items() if value is not None}


def _table(path: Path) -> Any:
    # Here and above: a client that reads JSON Lines needs nothing of this.
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path)
    strings = pyarrow.csv.ConvertOptions(strings_can_be_null=True, column_types=dict.fromkeys(_TEXT, pa.string()))
    return pyarrow.csv.read_csv(path, convert_options=strings)


def _json_rows(path: Path) -> Iterator[tuple[str, Row | SemcastError]]:
    decode = msgspec.json.Decoder().decode
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                where = f"{path}:{number}"
                if not line.strip():
                    continue
                try:
                    row = decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                    cut = "" if line.endswith(b"\n") else " (the file ends in the middle of this line?)"
                    yield where, SemcastError(f"{where}: not JSON: {error}{cut}")
                    continue
                if isinstance(row, dict):
                    yield where, row
                else:
                    yield where, SemcastError(f"{where}: not a JSON object with id, language and text")
    except OSError as error:
        raise SemcastError(f"{path}: cannot be read ({error.strerror})") from error


def named_text(row: Row) -> tuple[str, str]:
    """A profile's id and text; ProfileError where one is missing. Ids may be whole numbers."""
    id_, text = row.get("id"), row.get("text")
    if isinstance(id_, int) and not isinstance(id_, bool):
        id_ = str(id_)
    if not isinstance(id_, str) or not isinstance(text, str):
        missing = "id" if not isinstance(id_, str) else "text"
        raise ProfileError(f'"{missing}" must be a string')
    return id_, text


def own_prefixes(row: Row) -> dict[str, str]:
    """A profile's prefix map: an object in JSON Lines, a map or a struct in Parquet, JSON in a CSV cell."""
    value = row.get("namespaces")
    try:
        found = msgspec.json.decode(value) if isinstance(value, str) else value
        pairs = dict(found or {})
    except (msgspec.DecodeError, TypeError, ValueError):
        raise ProfileError('"namespaces" is from prefixes to namespaces, as {"n": "urn:news"}') from None
    return {prefix: uri for prefix, uri in pairs.items() if uri is not None}
