"""Overlays and dissemination trees as pictures: SVG or PNG, one colour per channel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

from semcast.model import SemcastError
from semcast.model.palette import BLACK, GREY, style
from semcast.trees.graph import FloatArray
from semcast.trees.layout import places
from semcast.trees.roles import SOURCE
from semcast.trees.topology import Topology

FORMATS = (".svg", ".png")
_STYLE: Any = {"svg.fonttype": "none", "svg.hashsalt": "semcast", "font.size": 9}
_LIGHT = "#D9D9D9"
_INCHES = 7.0  # the longer side of the overlay itself, up to a hundred brokers
_BUNDLE = 0.35  # of a link's length: trees that share a short link move closer
_NAMED = 40  # brokers up to which their ids fit
_LEGEND_ROWS = 30

Tree = Sequence[tuple[int, int]]


class _Sizes(NamedTuple):
    """Points, smaller for larger overlays."""

    link: float
    tree: float
    broker: float

    @staticmethod
    def of(brokers: int, trees: int) -> _Sizes:
        shrink = min(1.0, math.sqrt(60 / brokers))
        return _Sizes(0.3 + 0.7 * shrink, (0.7 + 1.5 * shrink) * (0.8 if trees > 4 else 1.0), 1.6 + 4.4 * shrink)


def draw(topology: Topology, trees: Mapping[str, Tree] | None = None, *, out: Path, title: str | None = None) -> None:
    """Draw the overlay in light grey and each tree, a list of (parent, child), in its own colour.

    Trees that share a link run beside each other. Gateways are squares, sources stars; the root of a tree, its
    rendezvous point, has a ring in the tree's colour. The same input gives the same file.
    """
    check_format(out)
    at = places(topology)
    named = dict(trees or {})
    sizes = _Sizes.of(len(topology.brokers), len(named))
    with mpl.rc_context(_STYLE):
        figure, axes, scale = _canvas(at)
        ends = topology.graph.ends
        axes.add_collection(LineCollection(list(at[ends]), colors=_LIGHT, linewidths=sizes.link, zorder=1))
        _draw_trees(axes, at, list(named.values()), sizes, scale)
        _draw_brokers(axes, topology, at, sizes)
        if len(topology.brokers) <= _NAMED:
            _name(axes, topology, at)
        if title:
            axes.set_title(title, loc="left", fontsize=11)
        keys = _keys(topology, list(named), sizes)
        figure.legend(handles=keys, loc="outside right upper", frameon=False, ncols=math.ceil(len(keys) / _LEGEND_ROWS))
        metadata = {"Date": None} if out.suffix.lower() == ".svg" else None
        try:
            figure.savefig(out, dpi=150, metadata=metadata, bbox_inches="tight")
        except OSError as error:
            raise SemcastError(f"{out}: {(error.strerror or 'cannot be written').lower()}") from None
        finally:
            plt.close(figure)


def check_format(out: Path) -> None:
    """SemcastError unless the file's name says what to draw."""
    if out.suffix.lower() not in FORMATS:
        raise SemcastError(f"{out}: a drawing ends in {' or '.join(FORMATS)}")


def _canvas(at: FloatArray) -> tuple[Any, Any, float]:
    """A figure in the overlay's proportions, and how many points a unit of its coordinates is."""
    low, high = at.min(axis=0), at.max(axis=0)
    span = np.maximum(high - low, 0.35 * max(float((high - low).max()), 1e-9))
    margin = 0.04 * float(span.max())
    inches = _INCHES * min(1.6, max(1.0, (len(at) / 100) ** 0.25))
    wide, tall = inches * span / span.max()
    figure, axes = plt.subplots(figsize=(wide + 2.2, tall + 0.5), layout="constrained")
    middle = (low + high) / 2
    axes.set_xlim(middle[0] - span[0] / 2 - margin, middle[0] + span[0] / 2 + margin)
    axes.set_ylim(middle[1] - span[1] / 2 - margin, middle[1] + span[1] / 2 + margin)
    axes.set_aspect("equal")
    axes.set_axis_off()
    return figure, axes, 72 * inches / float(span.max() + 2 * margin)


def _draw_trees(axes: Any, at: FloatArray, trees: Sequence[Tree], sizes: _Sizes, scale: float) -> None:
    users: dict[tuple[int, int], list[int]] = {}
    for number, tree in enumerate(trees):
        for a, b in tree:
            users.setdefault((min(a, b), max(a, b)), []).append(number)
    step = (sizes.tree + 0.5) / scale
    for number, tree in enumerate(trees):
        colour, dashes = style(number)
        lines = []
        for a, b in tree:
            link = min(a, b), max(a, b)
            lines.append(_beside(at[link[0]], at[link[1]], users[link].index(number), len(users[link]), step))
        stroke = (0, dashes) if dashes else "solid"
        axes.add_collection(
            LineCollection(lines, colors=colour, linewidths=sizes.tree, linestyles=[stroke], zorder=2, capstyle="butt")
        )
        if tree:
            ring = (max(9.0, 2.1 * sizes.broker) + 3 * sum(t[0][0] == tree[0][0] for t in trees[:number] if t)) ** 2
            axes.scatter(*at[tree[0][0]], s=ring, facecolors="none", edgecolors=colour, linewidths=1.4, zorder=5)


def _beside(start: FloatArray, stop: FloatArray, number: int, of: int, step: float) -> FloatArray:
    """One of several lines from start to stop, a step beside the other."""
    along = stop - start
    length = float(np.hypot(*along)) or 1.0
    distance = (number - (of - 1) / 2) * min(step, _BUNDLE * length / of)
    return np.array([start, stop]) + distance * np.array([-along[1], along[0]]) / length


def _draw_brokers(axes: Any, topology: Topology, at: FloatArray, sizes: _Sizes) -> None:
    gateways = set(topology.gateways)
    sources = [node for node, broker in enumerate(topology.brokers) if SOURCE in broker.roles]
    others = [node for node in range(len(topology.brokers)) if node not in gateways]
    small, large = (0.6 * sizes.broker) ** 2, sizes.broker**2
    axes.scatter(*at[others].T, s=small, c=GREY, linewidths=0, zorder=3)
    axes.scatter(*at[sorted(gateways)].T, s=large, c="white", marker="s", edgecolors=BLACK, linewidths=0.8, zorder=4)
    axes.scatter(
        *at[sources].T, s=max(70.0, 5 * large), c=BLACK, marker="*", edgecolors="white", linewidths=0.6, zorder=6
    )


def _name(axes: Any, topology: Topology, at: FloatArray) -> None:
    # A box behind a name, not an outline around it: outlined text would be shapes in an SVG, lost to search.
    look: dict[str, Any] = {"fontsize": 7, "color": "#333333", "zorder": 7}
    box = {"facecolor": "white", "alpha": 0.65, "linewidth": 0, "pad": 0.4}
    for broker, place in zip(topology.brokers, at, strict=True):
        axes.annotate(broker.id, place, (4, 4), textcoords="offset points", bbox=box, parse_math=False, **look)


def _keys(topology: Topology, names: Sequence[str], sizes: _Sizes) -> list[Line2D]:
    dot: dict[str, Any] = {"linestyle": "none"}
    keys = [Line2D([], [], marker="o", color=GREY, markersize=4, markeredgewidth=0, label="broker", **dot)]
    if topology.gateways:
        keys.append(
            Line2D([], [], marker="s", color=BLACK, markerfacecolor="white", markersize=5, label="gateway", **dot)
        )
    if any(SOURCE in broker.roles for broker in topology.brokers):
        keys.append(Line2D([], [], marker="*", color=BLACK, markersize=9, markeredgewidth=0, label="source", **dot))
    if names:
        look: dict[str, Any] = {"markerfacecolor": "none", "markersize": 8, **dot}
        keys.append(Line2D([], [], marker="o", color=GREY, label="rendezvous point", **look))
    keys.append(Line2D([], [], color=_LIGHT, linewidth=1.4, label="link"))
    for number, name in enumerate(names):
        colour, dashes = style(number)
        stroke: Any = (0, dashes) if dashes else "solid"
        keys.append(Line2D([], [], color=colour, linestyle=stroke, linewidth=max(1.6, sizes.tree), label=name))
    return keys
