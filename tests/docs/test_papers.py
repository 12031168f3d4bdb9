"""What docs/papers.md names is there: modules, tests, figures, for all five papers."""

from __future__ import annotations

import re
from pathlib import Path

from semcast_experiments.figures.catalogue import FIGURES
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "papers.md"
PAPERS = [
    "SemCast 2005", "SemCast 2004, long version", "SemCast 2004, short version", "Hierarchical streaming",
    "Semantic networking (thesis)", "What none of them has",
]  # fmt: skip


def rows(text: str) -> list[dict[str, list[str]]]:
    """The rows of all tables, column by column: what stands in backticks there."""
    found, columns = [], []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            columns = []
        elif not columns:
            columns = cells
        elif not set(line) <= set("|- "):
            found.append({name: re.findall(r"`([^`]+)`", cell) for name, cell in zip(columns, cells, strict=True)})
    return found


def module(name: str) -> Path:
    """Where a module stands that the page names."""
    inside = name.removeprefix("experiments/")
    root = ROOT / "src" / "semcast" if inside == name else ROOT / "experiments" / "semcast_experiments"
    return root / inside


def missing(text: str) -> list[str]:
    """Names that lead nowhere."""
    names = {figure.name for figure in FIGURES}
    lost = []
    for row in rows(text):
        lost += [f"module {name}" for name in row["modules"] if not module(name).is_file()]
        lost += [f"test {name}" for name in row["tests"] if not (ROOT / "tests" / name).is_file()]
        lost += [f"figure {name}" for name in row["figures"] if name not in names]
    return lost


def test_every_module_test_and_figure_that_is_named_exists() -> None:
    assert missing(PAGE.read_text()) == []


def test_every_paper_has_a_table_and_every_row_a_module_and_a_test() -> None:
    text = PAGE.read_text()
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == PAPERS
    found = rows(text)
    assert len(found) > 40
    assert all(row["modules"] and row["tests"] for row in found)


def test_every_figure_of_the_catalogue_stands_beside_its_part() -> None:
    named = {name for row in rows(PAGE.read_text()) for name in row["figures"]}
    assert {figure.name for figure in FIGURES} - named == set()


def test_a_name_that_leads_nowhere_is_noticed() -> None:
    row = "| `model/bits.py`, `gone.py` | `gone/test.py` | `2005-fig3`, `fig0` |"
    table = f"| modules | tests | figures |\n|---|---|---|\n{row}\n"
    assert missing(table) == ["module gone.py", "test gone/test.py", "figure fig0"]
