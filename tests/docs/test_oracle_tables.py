"""The tables of docs/performance.md beside the oracle: those of the figure as it is committed."""

from __future__ import annotations

from semcast_experiments.figures.oracle import WAXMAN, gaps
from tools.oracle_tables import PAGE, lines, page, read


def test_the_tables_are_those_of_the_figure() -> None:
    text = PAGE.read_text()
    assert text == page(text, read()), "write them anew: python tools/oracle_tables.py"


def test_cells_are_counted_as_the_figure_counts() -> None:
    rows = [row for row in read() if row.network in WAXMAN]
    found = {
        line[:2]: (line.above("masked_64", "oracle"), line.above("masked_64", "bound")) for line in lines(rows, WAXMAN)
    }
    assert found == {key: tuple(gap) for key, gap in gaps(rows, 64).items()}
