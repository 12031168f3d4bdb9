"""Tables on terminals of several widths, and off them."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from semcast.cli import render

COLUMNS = ["broker", "roles", "", "sessions", "messages out", "control"]
ROWS = [["b0", "source, gateway", "up", "12/12", "1,234,567", "94.2%"], ["b1", "interior", "DOWN", "", "5", "100.0%"]]


def lines(width: int, *, terminal: bool) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system=None)
    render.table("an overlay", COLUMNS, ROWS, console)
    return [line for line in file.getvalue().splitlines() if "b0" in line or "b1" in line]


@pytest.mark.parametrize(("width", "terminal", "ruled"), [(120, True, True), (66, True, False), (20, False, True)])
def test_a_row_is_one_line_with_all_its_text(width: int, terminal: bool, ruled: bool) -> None:
    shown = lines(width, terminal=terminal)
    assert len(shown) == len(ROWS)
    for line, row in zip(shown, ROWS, strict=True):
        assert all(cell in line for cell in row)
        assert ("│" in line) is ruled
        assert len(line) <= width or not terminal


def test_text_that_no_terminal_holds_is_folded_and_not_cut() -> None:
    file = io.StringIO()
    console = Console(file=file, width=30, force_terminal=True, color_system=None)
    render.table("profiles", ["profile", "matches"], [["x" * 70, "7"]], console)
    assert file.getvalue().count("x") == 70
    assert "…" not in file.getvalue()
