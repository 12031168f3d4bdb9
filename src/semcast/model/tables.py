"""Files that people write (TOML) as typed tables; errors name the line, the key, and what it may be."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

from semcast.model.errors import SemcastError

T = TypeVar("T", bound="Part")
_PLACE = re.compile(r"(?P<what>.*?)(?: - at `\$?\.?(?P<key>.*)`)?", re.DOTALL)
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]#]+?)\s*\]\]?\s*(?:#.*)?")
_KEY = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of a file."""


class TableError(SemcastError):
    """A key that is wrong; ``key`` is its dotted place in the file."""

    def __init__(self, key: str, what: str) -> None:
        super().__init__(f"{key}: {what}" if key else what)
        self.key = key


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a text; SemcastError where it is no TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SemcastError(f"no TOML: {error}") from None


def typed(given: Mapping[str, Any], part: type[T]) -> T:
    """The tables as what they mean; TableError names the first key that is wrong."""
    check_keys("", given, part)
    try:
        return msgspec.convert(given, part)
    except msgspec.ValidationError as error:
        raise TableError(*_told(str(error))) from None


def check_keys(before: str, table: Mapping[str, Any], part: type[msgspec.Struct]) -> None:
    """Refuse keys that a table does not have, and look into the tables that it holds.

    msgspec would name an unknown key, but not the known ones.
    """
    known = {field.name: field.type for field in msgspec.structs.fields(part)}
    tag = part.__struct_config__.tag_field
    for key, value in table.items():
        if key == tag:
            continue
        if key not in known:
            near = get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise TableError(f"{before}{key}", f"there is no such key; {hint}allowed: {', '.join(known)}")
        _check_value(f"{before}{key}", value, known[key])


def _check_value(at: str, value: Any, kind: Any) -> None:
    if get_origin(kind) is Literal and value not in get_args(kind):
        raise TableError(at, f"there is no {value!r}; there is {', '.join(map(str, get_args(kind)))}")
    if isinstance(value, Mapping) and _is_mapping(kind):
        for name, row in value.items():
            _check_value(f"{at}.{name}", row, get_args(kind)[1])
        return
    parts = _parts(kind)
    if not parts:
        return
    if isinstance(value, Mapping):
        _check_row(at, value, parts)
    elif isinstance(value, list):
        for number, row in enumerate(value):
            if isinstance(row, Mapping):
                _check_row(f"{at}[{number}]", row, parts)


def _check_row(at: str, row: Mapping[str, Any], parts: list[type[msgspec.Struct]]) -> None:
    field = parts[0].__struct_config__.tag_field
    if field is None:
        check_keys(f"{at}.", row, parts[0])
        return
    tagged = {part.__struct_config__.tag: part for part in parts}
    kind = row.get(field)
    if kind not in tagged:
        said = "is missing" if kind is None else f"there is no {kind!r}"
        raise TableError(f"{at}.{field}", f"{said}; there is {', '.join(map(str, tagged))}")
    check_keys(f"{at}.", row, tagged[kind])


def _parts(kind: Any) -> list[type[msgspec.Struct]]:
    """The tables that a field may hold, alone, in a list or by name."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [kind]
    return [part for argument in get_args(kind) for part in _parts(argument)]


def _is_mapping(kind: Any) -> bool:
    return getattr(kind, "__origin__", None) is dict


def _told(error: str) -> tuple[str, str]:
    """msgspec's words, with the key first."""
    found = _PLACE.fullmatch(error)
    if found is None or not found["key"]:
        return "", error
    what = found["what"].replace("`", "")
    return found["key"], f"{what[0].lower()}{what[1:]}"


def located(error: SemcastError, path: object, text: str) -> SemcastError:
    """The error with the file's name, and the line where the text says what is wrong."""
    key = error.key if isinstance(error, TableError) else str(error).partition(":")[0]
    line = line_of(text, key)
    return SemcastError(f"{path}:{line}: {error}" if line else f"{path}: {error}")


def line_of(text: str, key: str) -> int | None:
    """The line, from 1, that says a key, or, where none does, the nearest table that holds it; None if none is."""
    places = _places(text)
    while key:
        if key in places:
            return places[key]
        key = key[: max(key.rfind("."), key.rfind("["), 0)]
    return None


def _places(text: str) -> dict[str, int]:
    places: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.fullmatch(line):
            table = _plain(header[2])
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = f"{table}[{counts[table]}]"
            places.setdefault(table, number)
        elif key := _KEY.match(line):
            places.setdefault(f"{table}.{_plain(key[1])}".removeprefix("."), number)
    return places


def _plain(dotted: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in dotted.split("."))
