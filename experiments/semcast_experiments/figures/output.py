"""What all figures share: tables as CSV, plots as SVG and PNG in one style, means with their 95 % intervals."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "semcast", "font.size": 9, "axes.titlesize": 10}
# Student's t for 1 to 19 degrees of freedom
_T_95 = (
    12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09,
)  # fmt: skip


class Mean(NamedTuple):
    """A mean and half the width of its 95 % interval; 0 for a single value."""

    value: float
    margin: float

    def percent(self) -> str:
        return f"{self.value:.1%} ± {self.margin:.1%}"


def mean(values: Iterable[float]) -> Mean:
    found = np.fromiter(values, np.float64)
    if len(found) < 2:
        return Mean(float(found.mean()) if len(found) else float("nan"), 0.0)
    t = _T_95[len(found) - 2] if len(found) - 2 < len(_T_95) else 1.96 + 2.4 / (len(found) - 1)
    return Mean(float(found.mean()), float(t * found.std(ddof=1) / len(found) ** 0.5))


def over_seeds(values: Iterable[tuple[int, float]]) -> Mean:
    """The mean of pairs of a seed and a value, with an interval over seeds: values of one seed are not independent."""
    groups: dict[int, list[float]] = {}
    for seed, value in values:
        groups.setdefault(seed, []).append(value)
    return mean(sum(group) / len(group) for group in groups.values())


def write_table(path: Path, rows: Sequence[NamedTuple]) -> Path:
    """One line per row under the names of its fields."""
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows[0]._fields if rows else [])
        writer.writerows([round(x, 5) if isinstance(x, float) else x for x in row] for row in rows)
    return path


def figure(columns: int, *, width: float = 9.0, height: float = 3.6, **more: Any) -> tuple[Any, Any]:
    """A figure with panels side by side, to be dressed and saved."""
    return grid(1, columns, width=width, height=height, **more)


def grid(rows: int, columns: int, *, width: float, height: float, **more: Any) -> tuple[Any, Any]:
    """The same with panels above each other too."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update(STYLE)
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, figsize=(width, height), layout="constrained", **more)


def dress(axes: Any, title: str, x: str, y: str) -> None:
    """Title at the left, light grid, no frame above and to the right."""
    axes.set_title(title, loc="left")
    axes.set(xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)


def save(drawn: Any, out: Path, name: str) -> list[Path]:
    """As SVG and PNG; the same data give the same bytes."""
    import matplotlib.pyplot as plt

    files = [out / f"{name}.svg", out / f"{name}.png"]
    drawn.savefig(files[0], metadata={"Date": None}, dpi=130)
    drawn.savefig(files[1], dpi=130)
    plt.close(drawn)
    return files
