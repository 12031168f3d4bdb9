"""Write the tables beside the oracle into docs/performance.md, from docs/figures/oracle.csv: `tools/oracle_tables.py`.

A table is known by its header, which stays. Cells are ratios of costs summed over seeds, in per cent.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, get_type_hints

from semcast_experiments.figures.oracle import PAPERS, REAL, WAXMAN, Row

ROOT = Path(__file__).parent.parent
ROWS = ROOT / "docs" / "figures" / "oracle.csv"
PAGE = ROOT / "docs" / "performance.md"
_SHORT = {"waxman-4": "4", "waxman-10": "10"} | dict(zip(REAL, ("AS 7018", "AS 3356", "Europe"), strict=True))
_TREES = ("spt", "one_tree", "one_tree_filtered", "masked_1", "masked_16", "masked_64")


class Line(NamedTuple):
    """A network with a workload, all seeds of it."""

    network: str
    interest: str
    rows: list[Row]

    def above(self, scheme: str, least: str) -> float:
        return 100 * (self._sum(scheme) / self._sum(least) - 1)

    def worst(self, scheme: str, least: str) -> float:
        """Of the seeds."""
        return max(Line(*self[:2], [row]).above(scheme, least) for row in self.rows)

    def _sum(self, scheme: str) -> float:
        return sum(getattr(row, scheme) for row in self.rows)


def read(path: Path = ROWS) -> list[Row]:
    """The rows as they were measured, to five digits."""
    with path.open() as file:
        found = list(csv.DictReader(file))
    kinds = get_type_hints(Row)
    return [Row(**{name: kinds[name](value) for name, value in row.items()}) for row in found]


def lines(rows: Sequence[Row], networks: Sequence[str]) -> list[Line]:
    found: dict[tuple[str, str], list[Row]] = {}
    for network in networks:
        for row in rows:
            if row.network == network:
                found.setdefault((network, row.interest), []).append(row)
    return [Line(*key, own) for key, own in found.items()]


def tables(rows: Sequence[Row]) -> list[list[str]]:
    """What stands below the headers on the page, in its order."""
    drawn, real = lines(rows, WAXMAN), lines(rows, REAL)
    made = [_beside_the_oracle(drawn), _with_worst_seeds(drawn)]
    return [list(table) for table in (*made, _all(real, "oracle"), _all(real, "bound"))]


def _beside_the_oracle(drawn: Sequence[Line]) -> Iterator[str]:
    whole = ("spt", "one_tree_filtered"), PAPERS
    for line in drawn:
        first, papers = ([f"{line.above(scheme, 'oracle'):.0f}" for scheme in some] for some in whole)
        masked = [
            f"{line.above(scheme, 'oracle'):.1f} ({line.worst(scheme, 'oracle'):.1f})"
            for scheme in ("masked_16", "masked_64")
        ]
        one = f"{line.above('masked_1', 'oracle'):.1f}"
        yield _row(line, [*first, one, *masked, f"{line.above('masked_64', 'bound'):.1f}", *papers])
    first, papers = ([f"{_mean(drawn, scheme, 'oracle'):.0f}" for scheme in some] for some in whole)
    masked = [
        f"{_mean(drawn, scheme, 'oracle'):.1f} ({max(line.worst(scheme, 'oracle') for line in drawn):.1f})"
        for scheme in ("masked_16", "masked_64")
    ]
    one, bound = f"{_mean(drawn, 'masked_1', 'oracle'):.1f}", f"{_mean(drawn, 'masked_64', 'bound'):.1f}"
    yield _row(None, [*first, one, *masked, bound, *papers], "mean")


def _with_worst_seeds(drawn: Sequence[Line]) -> Iterator[str]:
    place = len(_TREES) + 2  # after the names
    worst = [[line.worst(scheme, "bound") for scheme in ("masked_16", "masked_64")] for line in drawn]
    means = [sum(column) / len(drawn) for column in zip(*worst, strict=True)]
    highest = [max(column) for column in zip(*worst, strict=True)]
    for row, seeds in zip(_all(drawn, "bound"), [*worst, means, highest], strict=True):
        cells = row.split(" | ")
        yield " | ".join([*cells[:place], ", ".join(map(_digits, seeds)), *cells[place:]])


def _all(some: Sequence[Line], least: str) -> Iterator[str]:
    schemes = (*_TREES, *PAPERS)
    for line in some:
        yield _row(line, [_digits(line.above(scheme, least)) for scheme in schemes])
    yield _row(None, [_digits(_mean(some, scheme, least)) for scheme in schemes], "mean")
    yield _row(None, [_digits(max(line.above(scheme, least) for line in some)) for scheme in schemes], "worst")


def _mean(some: Sequence[Line], scheme: str, least: str) -> float:
    return sum(line.above(scheme, least) for line in some) / len(some)


def _digits(value: float) -> str:
    return f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def _row(line: Line | None, cells: Sequence[str], name: str = "") -> str:
    names = ["", name] if line is None else [_SHORT[line.network], line.interest]
    return f"| {' | '.join([*names, *cells])} |".replace("|  |", "| |")


def page(text: str, rows: Sequence[Row]) -> str:
    """The page with its tables made anew."""
    left = tables(rows)
    done: list[str] = []
    skipping = False
    for line in text.splitlines():
        skipping = skipping and line.startswith("|")
        if skipping:
            continue
        done.append(line)
        if left and line.startswith("|---") and _is_header(done[-2]):
            done += left.pop(0)
            skipping = True
    if left:
        raise SystemExit(f"{len(left)} of the tables have no header on the page")
    return "\n".join(done) + "\n"


def _is_header(line: str) -> bool:
    return line.startswith(("| degree | workload | SPT |", "| network | workload | SPT | one tree, whole |"))


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(), read()))
