"""Thesis §5.4 and §3.5: the cost of a packet by ports (L = βIp), with a prefilter, by selectivity, and with leakage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semcast_experiments.figures.claims import Claim, judged
from semcast_experiments.figures.lines import Points, curve, means, result
from semcast_experiments.figures.output import dress, figure
from semcast_experiments.figures.semantic.fits import Line, line
from semcast_experiments.figures.semantic.load import PerPacket
from semcast_experiments.figures.semantic.setup import STYLES, all_settings
from semcast_experiments.figures.trials import Run

_PANELS = {
    "ports": ("Ports: L = βIp", "ports"),
    "selectivity": ("Selectivity, two ports", "packets per match of a port, S"),
    "leakage": ("Leakage, four ports", "levels of filters that are looked at"),
}


def ports(run: Run) -> dict[str, Any]:
    rows = all_settings(run)
    note = [
        "One packet at a time, best of some rounds. A prefilter is one tree of all ports' filters, looked at first, "
        "down to the subregion. Dotted, at the right: what goes out where filters are cut, so as to lessen the load."
    ]
    return result(run, "semantic-ports", rows, _drawn(rows), claims(rows), note)


def claims(rows: Sequence[PerPacket]) -> list[Claim]:
    each, prefilter = (_line(rows, way) for way in ("each", "prefilter"))
    points = {way: dict(_points(rows, "selectivity", way)) for way in STYLES}
    first, last = points["each"][min(points["each"])].value, points["each"][max(points["each"])].value
    return [
        judged(
            "L = βIp: load is linear in the number of ports.",
            f"{each.slope:.1f} ± {each.slope_error:.1f} µs a port; the line explains {each.explained:.0%}.",
            each.slope > 0 and each.explained > 0.9,
            "Filters of as many charts differ in what matching them takes.",
            partly=each.slope > 0,
        ),
        judged(
            "A prefilter reduces the gradient.",
            f"{each.slope:.1f} µs a port without, {prefilter.slope:.1f} µs with one; all filters at once (ours) "
            f"{_line(rows, 'shared').slope:.1f}.",
            prefilter.slope < each.slope,
            "The prefilter costs more than it saves here.",
        ),
        judged(
            "A packet that matches costs hardly more than one that does not.",
            f"{first:.0f} µs where every packet goes out on both ports, {last:.0f} µs where one in "
            f"{max(points['each']):.0f} does.",
            first < 1.25 * last,
            "It must be encoded and sent on; and a filter that lets all pass is the longest here, of 90 subregions. "
            f"With all filters at once it is {points['shared'][1.0].value:.0f} against "
            f"{points['shared'][max(points['shared'])].value:.0f} µs.",
        ),
    ]


def _of(rows: Sequence[PerPacket], what: str, way: str) -> list[PerPacket]:
    return [row for row in rows if (row.what, row.matching) == (what, way)]


def _points(rows: Sequence[PerPacket], what: str, way: str) -> Points:
    return means(_of(rows, what, way), lambda row: row.x, lambda row: row.us_per_packet)


def _line(rows: Sequence[PerPacket], way: str) -> Line:
    mine = _of(rows, "ports", way)
    return line([row.x for row in mine], [row.us_per_packet for row in mine])


def _drawn(rows: Sequence[PerPacket]) -> Any:
    drawn, panels = figure(3, width=13, height=3.7)
    for axes, (what, (title, x)) in zip(panels, _PANELS.items(), strict=True):
        for way, style in STYLES.items():
            curve(axes, _points(rows, what, way), style)
        dress(axes, title, x, "CPU µs per packet")
        axes.set_ylim(bottom=0)
    panels[1].set_xscale("log")
    panels[1].xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    leaked = means(_of(rows, "leakage", "shared"), lambda row: row.x, lambda row: row.forwarded)
    other = panels[2].twinx()
    values, margins = [value.value for _, value in leaked], [value.margin for _, value in leaked]
    other.errorbar([x for x, _ in leaked], values, margins, color="#666666", linestyle=":")
    other.set_ylabel("packets out per packet in (dotted)")
    other.set_ylim(bottom=0)
    other.spines[["top"]].set_visible(False)
    drawn.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return drawn
