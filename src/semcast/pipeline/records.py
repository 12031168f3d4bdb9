"""Profiles from files: JSON Lines, CSV or Parquet with the columns id, language and text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from semcast.matching import Language, language
from semcast.model import ProfileError, Schema, SemcastError

_SHOWN_ERRORS = 5
_MAX_FILE_BYTES = 1 << 32


class ProfileRecord(NamedTuple):
    """One line of a profiles file, parsed."""

    id: str
    profile: Any
    line: int
    gateways: tuple[str, ...] = ()
    """Where its clients are; a profile that is only matched needs none."""


class ProfileFile(NamedTuple):
    """The profiles of one language in a file; ``others`` counts those of other languages."""

    language: Language[Any]
    records: list[ProfileRecord]
    others: dict[str, int]


def read_profiles(
    path: Path, name: str | None = None, schema: Schema | None = None, namespaces: Mapping[str, str] | None = None
) -> ProfileFile:
    """Read and parse the profiles of language ``name`` (by default the only one in the file).

    ``namespaces`` are those of all profiles; a record's own "namespaces" come first.
    All that is wrong is said in one error, with the place of each; nothing is skipped in silence.
    """
    rows = list(_rows(path))
    found: dict[str, int] = {}
    for where, row in rows:
        kind = row.get("language", name)
        if not isinstance(kind, str):
            raise SemcastError(f'{where}: has no "language"; say which with --language')
        found[kind] = found.get(kind, 0) + 1
    if not rows:
        raise SemcastError(f"{path}: holds no profiles")
    if name is None:
        if len(found) > 1:
            raise SemcastError(f"{path}: holds profiles in {', '.join(sorted(found))}; choose one with --language")
        name = next(iter(found))
    chosen = language(name)
    own = [row for row in rows if row[1].get("language", name) == name]
    records = _parsed(own, chosen, schema, namespaces or {}, path)
    return ProfileFile(chosen, records, {kind: count for kind, count in found.items() if kind != name})


def _parsed(
    rows: list[tuple[str, dict[str, Any]]],
    chosen: Language[Any],
    schema: Schema | None,
    namespaces: Mapping[str, str],
    path: Path,
) -> list[ProfileRecord]:
    records: list[ProfileRecord] = []
    errors: list[str] = []
    seen: dict[str, str] = {}
    for at, (where, row) in enumerate(rows):
        id_, text = row.get("id"), row.get("text")
        if isinstance(id_, int) and not isinstance(id_, bool):
            id_ = str(id_)
        if not isinstance(id_, str) or not isinstance(text, str):
            missing = "id" if not isinstance(id_, str) else "text"
            errors.append(f'{where}: "{missing}" must be a string')
            continue
        if id_ in seen:
            errors.append(f"{where}: the id {id_!r} is already used in {seen[id_]}")
            continue
        seen[id_] = where
        try:
            meant = {**namespaces, **_prefixes(row.get("namespaces"))} if chosen.has_namespaces else None
            profile = chosen.parse(text, schema, namespaces=meant)
            records.append(ProfileRecord(id_, profile, at, _gateways(row.get("gateway"))))
        except ProfileError as error:
            errors.append(f"{where}: profile {id_!r}: {error}")
    if errors:
        shown = "\n".join(errors[:_SHOWN_ERRORS])
        more = f"\n… and {len(errors) - _SHOWN_ERRORS:,} more" if len(errors) > _SHOWN_ERRORS else ""
        count = f"{len(errors):,} of {len(rows):,} profiles in {path} cannot be used:\n" if len(errors) > 1 else ""
        raise SemcastError(count + shown + more)
    if not records:
        raise SemcastError(f"{path}: holds no {chosen.name} profiles")
    return records


def _gateways(value: Any) -> tuple[str, ...]:
    """A record's gateway or gateways: a string or a list of them; in a CSV cell several are a JSON list."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError:
            raise ProfileError(f'"gateway" is {value!r}, which is no list of brokers') from None
    names = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ProfileError('"gateway" must be the id of a broker, or a list of ids')
    return tuple(dict.fromkeys(names))


def _prefixes(value: Any) -> dict[str, str]:
    """A record's prefix map: an object in JSON Lines, a map or a struct in Parquet, JSON in a CSV cell."""
    try:
        found = msgspec.json.decode(value) if isinstance(value, str) else value
        pairs = dict(found or {})
    except (msgspec.DecodeError, TypeError, ValueError):
        raise ProfileError('"namespaces" is from prefixes to namespaces, as {"n": "urn:news"}') from None
    return {prefix: uri for prefix, uri in pairs.items() if uri is not None}


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if not path.exists():
        raise SemcastError(f"{path}: no such file")
    if path.is_dir():
        raise SemcastError(f"{path}: is a folder; profiles are read from one file")
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise SemcastError(f"{path}: is larger than {_MAX_FILE_BYTES:,} bytes")
    match path.suffix:
        case ".parquet":
            yield from _table_rows(path, lambda: pyarrow.parquet.read_table(path))
        case ".csv":
            strings = pyarrow.csv.ConvertOptions(
                strings_can_be_null=True, column_types=dict.fromkeys(_TEXT, pa.string())
            )
            yield from _table_rows(path, lambda: pyarrow.csv.read_csv(path, convert_options=strings))
        case _:
            yield from _json_rows(path)


_TEXT = ("id", "stream", "language", "text", "gateway", "subscriber", "namespaces")


def _table_rows(path: Path, read: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        table = read()
    except (pa.ArrowException, OSError) as error:
        raise SemcastError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from error
    for name in ("id", "text"):
        if name not in table.column_names:
            raise SemcastError(f"{path}: has no column {name!r}; it has {', '.join(table.column_names)}")
    for at, row in enumerate(table.to_pylist()):
        yield f"{path}: row {at}", {key: value for key, value in row.items() if value is not None}


def _json_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    decode = msgspec.json.Decoder().decode
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    row = decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                    cut = "" if line.endswith(b"\n") else " (the file ends in the middle of this line?)"
                    raise SemcastError(f"{path}:{number}: not JSON: {error}{cut}") from None
                if not isinstance(row, dict):
                    raise SemcastError(f"{path}:{number}: not a JSON object with id, language and text")
                yield f"{path}:{number}", row
    except OSError as error:
        raise SemcastError(f"{path}: cannot be read ({error.strerror})") from error
