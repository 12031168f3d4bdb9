"""Rows of a figure's table, made up by hand."""

from __future__ import annotations

from semcast_experiments.figures.dissemination import Cost


def cost_row(scheme: str, cost: float, distinct: int = 50, leg: float = 0.0, **changes: object) -> Cost:
    row = Cost("random", 4.0, 60, 100, distinct, "disjoint", 0.0, 8, 1, 0.5, 3.0, scheme, cost, cost + leg, 5, 2.0, 0.0)
    return row._replace(**changes)  # type: ignore[arg-type]
