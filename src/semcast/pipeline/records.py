"""Profiles from files: JSON Lines, CSV or Parquet with the columns id, language and text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from semcast.files import named_text, own_prefixes, profile_rows
from semcast.matching import Language, language
from semcast.model import ProfileError, Schema, SemcastError

_SHOWN_ERRORS = 5


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
    rows: list[tuple[str, dict[str, Any]]] = []
    for where, row in profile_rows(path):
        if isinstance(row, SemcastError):
            raise row
        rows.append((where, row))
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
        try:
            id_, text = named_text(row)
        except ProfileError as error:
            errors.append(f"{where}: {error}")
            continue
        if id_ in seen:
            errors.append(f"{where}: the id {id_!r} is already used in {seen[id_]}")
            continue
        seen[id_] = where
        try:
            meant = {**namespaces, **own_prefixes(row)} if chosen.has_namespaces else None
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
