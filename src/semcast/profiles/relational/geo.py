"""Distances on the globe, and what one distance says about another."""

from __future__ import annotations

from math import asin, copysign, cos, degrees, radians, sin, sqrt

from semcast.profiles.relational.ranges import AFTER, BEFORE, Ranges, between
from semcast.profiles.relational.syntax import Distance

EARTH_RADIUS_KM = 6371.0088  # mean radius R1 (IUGG)
_SLACK_KM = 1e-6  # far above the rounding of the haversine, far below what anybody measures


def distance_km(latitude: float, longitude: float, center_latitude: float, center_longitude: float) -> float | None:
    """Great-circle distance by the haversine formula; None where a place is not on the globe."""
    if not (abs(latitude) <= 90 and abs(longitude) <= 180):
        return None
    phi, center_phi = radians(latitude), radians(center_latitude)
    half = sin((phi - center_phi) / 2) ** 2
    half += cos(phi) * cos(center_phi) * sin(radians(longitude - center_longitude) / 2) ** 2
    return 2 * EARTH_RADIUS_KM * asin(min(1.0, sqrt(max(0.0, half))))


def northward(latitude: float, longitude: float, km: float) -> tuple[float, float]:
    """The place that far north of another, over the pole if need be; south where ``km`` is negative."""
    reached = latitude + degrees(km / EARTH_RADIUS_KM)
    if abs(reached) <= 90:
        return reached, longitude
    return copysign(180, reached) - reached, longitude - copysign(180, longitude)


def implied_ranges(known: Distance, ranges: Ranges, wanted: Distance) -> Ranges | None:
    """Where the ``wanted`` distance must lie if the ``known`` one lies in ``ranges``; None if unknowable.

    The triangle inequality, with slack for rounding.
    """
    if (known.latitude, known.longitude) != (wanted.latitude, wanted.longitude) or not ranges:
        return None
    spans = list(ranges.intervals())
    low, high = spans[0][0], spans[-1][1]
    gap = distance_km(wanted.center_latitude, wanted.center_longitude, known.center_latitude, known.center_longitude)
    assert gap is not None  # the parser takes no centre off the globe
    farthest = None if high is None else float(high[0])
    nearest = -_SLACK_KM if low is None else float(low[0]) - gap - _SLACK_KM
    if farthest is not None:
        nearest = max(nearest, gap - farthest - _SLACK_KM)
    return between(
        None if nearest < 0 else (nearest, BEFORE),
        None if farthest is None else (farthest + gap + _SLACK_KM, AFTER),
    )
