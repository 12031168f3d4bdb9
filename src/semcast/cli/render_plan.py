"""What `semcast plan` and `semcast cost` show: channels, costs, and what a reorganisation changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from semcast.cli import render

if TYPE_CHECKING:
    from semcast.planning.changes import Delta
    from semcast.planning.cost import Cost, TwoLevels
    from semcast.planning.plan import Plan, PlannedChannel
    from semcast.trees.topology import Topology

_SHOWN = 12
_DRAWN = 6  # more trees than that cannot be told apart


def _busiest(made: Plan) -> list[PlannedChannel]:
    return sorted(made.channels, key=lambda channel: (-channel.rate * len(channel.tree), channel.id))


def draw_plan(made: Plan, overlay: Topology, path: Path) -> None:
    from semcast.draw.overlay import draw

    shown = _busiest(made)[:_DRAWN]
    trees = {channel.id: made.tree(channel, overlay).links.tolist() for channel in shown}
    of = f"{len(shown)} of {len(made.channels):,} channels" if len(made.channels) > len(shown) else "all channels"
    with render.step(f"drawing {path}"):
        draw(overlay, trees, out=path, title=f"{made.scheme}: {of}, the most costly first")


def show_plan(made: Plan, cost: Cost) -> None:
    busiest = _busiest(made)
    rows = [
        [
            channel.id,
            f"{channel.rate:.2%}",
            str(len(channel.tree)),
            str(len(channel.gateways)),
            f"{len(channel.profiles):,}",
            _short(channel.expression),
        ]
        for channel in busiest[:_SHOWN]
    ]
    if len(busiest) > _SHOWN:
        rows.append([f"… {len(busiest) - _SHOWN:,} more", "", "", "", "", ""])
    render.table(
        "Channels, the most costly first", ["channel", "rate", "links", "gateways", "profiles", "carries"], rows
    )
    show_cost(cost)


def told(change: Delta) -> str:
    """What has to happen, in a line."""
    counts = ((change.added, "added"), (change.removed, "removed"), (change.changed, "changed"))
    words = ", ".join(f"{len(names):,} {word}" for names, word in counts if names) or "none changed"
    moving = f"; {len(change.migrating):,} profiles move" if change.migrating else ""
    return f"channels: {words}{moving}"


def show_cost(cost: Cost) -> None:
    """What a message costs, by this plan and by others."""
    rows = [
        ["this plan", _number(cost.plan_with_leg), _above(cost.plan_with_leg, cost.oracle)],
        ["  without the legs to rendezvous points", _number(cost.plan), _above(cost.plan, cost.oracle)],
        ["shortest-path tree, filtered at every hop", _number(cost.spt), _above(cost.spt, cost.oracle)],
        ["a copy per gateway", _number(cost.unicast), _above(cost.unicast, cost.oracle)],
        ["a copy per client", _number(cost.unicast_clients), _above(cost.unicast_clients, cost.oracle)],
        [f"oracle: a tree per message ({cost.oracle_messages:,} sampled)", _number(cost.oracle), ""],
        ["  no tree can do with less", _number(cost.oracle_bound), _above(cost.oracle_bound, cost.oracle)],
    ]
    render.table("Link transmissions per message", ["", "mean", "above the oracle"], rows)


def show_levels(cost: Cost, levels: TwoLevels) -> None:
    """Masks of one level beside masks of two."""
    rows = [
        ["transmissions per message", _number(cost.plan_with_leg), _number(levels.plan)],
        [
            "mask bytes per transmission",
            _number(cost.mask_bytes_per_transmission),
            _number(levels.mask_bytes_per_transmission),
        ],
        ["mask bytes per message", _number(cost.mask_bytes_per_message), _number(levels.mask_bytes_per_message)],
        ["table bytes per link", _number(levels.table_bytes_one_level), _number(levels.table_bytes)],
    ]
    title = f"Masks; {levels.regions:,.0f} regions of at most {levels.largest_region:,} gateways"
    render.table(title, ["", "one level", "two levels"], rows)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"


def _above(value: float | None, oracle: float | None) -> str:
    return f"{value / oracle - 1:+.1%}" if value is not None and oracle else ""


def _short(expression: str | None) -> str:
    if expression is None:
        return "any message, by its gateways"
    return expression if len(expression) <= 18 else expression[:17] + "…"
