"""Curves with their 95 % intervals and their names at their ends, and what a figure hands to the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from semcast_experiments.figures.catalogue import BY_NAME
from semcast_experiments.figures.claims import Claim
from semcast_experiments.figures.output import Mean, mean, save, write_table
from semcast_experiments.figures.trials import Run

_APART = 0.062  # of the height of a panel, between two names
Row = TypeVar("Row")
Points = Sequence[tuple[float, Mean]]


class Style(NamedTuple):
    """How a curve looks."""

    label: str
    colour: str
    line: str = "-"
    mark: str = "o"


def means(rows: Iterable[Row], x: Callable[[Row], float], y: Callable[[Row], float]) -> list[tuple[float, Mean]]:
    """The mean of ``y`` over all rows with one ``x``, ascending."""
    groups: dict[float, list[float]] = {}
    for row in rows:
        groups.setdefault(x(row), []).append(y(row))
    return [(key, mean(values)) for key, values in sorted(groups.items())]


def curve(axes: Any, points: Points, style: Style) -> None:
    """A line with error bars, its name to be put at its end by ``name_ends``; nothing where there are no points."""
    if not points:
        return
    axes.errorbar(
        [x for x, _ in points],
        [value.value for _, value in points],
        [value.margin for _, value in points],
        color=style.colour, linestyle=style.line, marker=style.mark, markersize=3.5, linewidth=1.4, elinewidth=0.8,
        label=style.label,
    )  # fmt: skip
    ends = getattr(axes, "semcast_ends", [])
    axes.semcast_ends = [*ends, (points[-1][1].value, style)]


def name_ends(axes: Any, *, fontsize: float = 7.5) -> None:
    """Write each curve's name to the right of its last point, pushed apart where two would overlap."""
    ends = getattr(axes, "semcast_ends", [])
    axes.autoscale_view()
    to_panel = axes.transData + axes.transAxes.inverted()
    places = [min(1.0, max(0.0, float(to_panel.transform((axes.get_xlim()[0], y))[1]))) for y, _ in ends]
    order = sorted(range(len(ends)), key=places.__getitem__)
    heights = _within(spread([places[number] for number in order], _APART))
    for number, height in zip(order, heights, strict=True):
        style = ends[number][1]
        axes.text(
            1.02, height, style.label, color=style.colour, transform=axes.transAxes, va="center", fontsize=fontsize
        )


def _within(heights: Sequence[float]) -> list[float]:
    """Pushed down where names would stand above the panel."""
    found: list[float] = []
    highest = 1.0
    for height in reversed(heights):
        found.append(min(height, highest))
        highest = found[-1] - _APART
    return found[::-1]


def spread(places: Sequence[float], apart: float) -> list[float]:
    """Ascending places moved as little as needed to be ``apart`` from each other."""
    groups: list[tuple[float, int]] = []  # centre and number of those that touch
    for place in places:
        groups.append((place, 1))
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < apart * (groups[-1][1] + groups[-2][1]) / 2:
            (upper, many), (lower, few) = groups.pop(), groups.pop()
            groups.append(((upper * many + lower * few) / (many + few), many + few))
    return [centre + apart * (at - (size - 1) / 2) for centre, size in groups for at in range(size)]


def result(
    run: Run,
    name: str,
    rows: Sequence[NamedTuple],
    drawn: Any,
    claims: Sequence[Claim],
    note: Sequence[str],
    **more: Any,
) -> dict[str, Any]:
    """Write a figure's table and picture under its name, and say what the page needs of it."""
    run.out.mkdir(parents=True, exist_ok=True)
    entitle(drawn, name)
    files = [write_table(run.out / f"{name}.csv", rows), *save(drawn, run.out, name)]
    return {
        "seed": run.seed,
        "quick": run.quick,
        "claims": [list(claim) for claim in claims],
        "note": list(note),
        "files": [str(file) for file in files],
        "cpu_s": round(sum(run.spent), 1),
        **more,
    }


def entitle(drawn: Any, name: str, more: str = "") -> None:
    """Say on the picture itself which paper's figure it is: pictures are passed on without their page."""
    if name in BY_NAME:
        drawn.suptitle(f"{BY_NAME[name].source}. {BY_NAME[name].title}{more}", x=0.01, ha="left", fontsize=10)


def above(rows: Sequence[Any], scheme: str, base: str, *, leg: bool = False) -> dict[Any, float]:
    """Per case (a row of which nothing is said of a scheme) what a scheme costs above another, in per cent."""
    field = "with_leg" if leg else "cost"
    cost = {(_case(row), row.scheme): getattr(row, field) for row in rows}
    return {
        case: 100 * (value / cost[case, base] - 1)
        for (case, name), value in cost.items()
        if name == scheme and cost.get((case, base))
    }


def by(values: Mapping[Any, float], x: Callable[[Any], float]) -> list[tuple[float, Mean]]:
    """Means over seeds of what ``above`` found, by something of the case."""
    return means(values.items(), lambda item: x(item[0]), lambda item: item[1])


_OUTCOME = ("scheme", "cost", "with_leg", "channels", "depth", "missed")


def _case(row: Any) -> Any:
    """A row without what one scheme made of it: equal for all schemes of a case."""
    return row._replace(**dict.fromkeys(_OUTCOME))
