"""Tables of files: what is wrong is named by line and key."""

from __future__ import annotations

import pytest

from semcast.model import SemcastError
from semcast.model.tables import Part, TableError, line_of, located, read_toml, typed

TEXT = """\
name = "x"  # a comment
sizes = { wide = 3 }

[shop]
"open at" = 9

[[rows]]
kind = "a"

[[rows]]
kind = "b"
deep.inside = 1

[named."a b"]
size = 1
"""


class _Row(Part, frozen=True, kw_only=True):
    size: int = 0


class _A(Part, frozen=True, kw_only=True, tag_field="kind", tag="a"):
    size: int = 0


class _B(Part, frozen=True, kw_only=True, tag_field="kind", tag="b"):
    length: int = 0


class _File(Part, frozen=True, kw_only=True):
    name: str = ""
    rows: tuple[_A | _B, ...] = ()
    named: dict[str, _Row] = {}  # noqa: RUF012


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("name", 1), ("sizes.wide", 2), ("shop", 4), ("shop.open at", 5), ("shop.closed", 4), ("rows[0].kind", 8),
        ("rows[1]", 10), ("rows[1].deep.inside", 12), ("rows[1].deep.other", 10), ("named.a b.size", 15),
        ("nothing", None), ("", None),
    ],
)  # fmt: skip
def test_a_key_has_a_line(key: str, line: int | None) -> None:
    assert line_of(TEXT, key) == line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nmae = 1", "f:1: nmae: there is no such key; did you mean 'name'? allowed: name, rows, named"),
        ("\nname = 1", "f:2: name: expected str, got int"),
        ("[[rows]]\nkind = 'c'", "f:2: rows[0].kind: there is no 'c'; there is a, b"),
        ("[[rows]]\nsize = 1", "f:1: rows[0].kind: is missing; there is a, b"),
        ("[[rows]]\nkind = 'b'\nsize = 1", "f:3: rows[0].size: there is no such key; allowed: length"),
        ("[named.x]\nsize = 1\n[named.y]\nsze = 2", "f:4: named.y.sze: there is no such key; did you mean 'size'?"),
        ("name = ", "f: no TOML: Invalid value"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(SemcastError) as raised:
        typed(read_toml(text), _File)
    assert str(located(raised.value, "f", text)).startswith(said)


def test_tables_are_read_as_what_they_mean() -> None:
    found = typed(read_toml("name='n'\n[[rows]]\nkind='b'\nlength=3\n[named.x]\nsize=2"), _File)
    assert found == _File(name="n", rows=(_B(length=3),), named={"x": _Row(size=2)})


def test_an_error_knows_its_key() -> None:
    assert TableError("a.b", "is wrong").key == "a.b"
