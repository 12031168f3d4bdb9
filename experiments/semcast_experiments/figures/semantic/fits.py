"""Straight lines through measured points, with the errors of their coefficients (thesis Table 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Line(NamedTuple):
    """l(x) = slope · x + start, each with its standard error, and the share of the variance that it explains."""

    slope: float
    slope_error: float
    start: float
    start_error: float
    explained: float

    def __call__(self, x: float) -> float:
        return self.slope * x + self.start


def line(x: Sequence[float], y: Sequence[float]) -> Line:
    """The least-squares line through at least three points that do not all have one x."""
    xs, ys = np.asarray(x, np.float64), np.asarray(y, np.float64)
    design = np.column_stack([xs, np.ones_like(xs)])
    inverse = np.linalg.inv(design.T @ design)
    slope, start = inverse @ design.T @ ys
    rest = ys - design @ np.array([slope, start])
    errors = np.sqrt(np.diag(inverse) * (rest @ rest) / max(1, len(xs) - 2))
    total = float(((ys - ys.mean()) ** 2).sum())
    explained = 1 - float(rest @ rest) / total if total else 1.0
    return Line(float(slope), float(errors[0]), float(start), float(errors[1]), explained)
