"""Units of distance, in kilometres."""

from __future__ import annotations

KM = "km"
UNITS = {
    KM: 1.0,
    "kilometre": 1.0,
    "kilometres": 1.0,
    "kilometer": 1.0,
    "kilometers": 1.0,
    "m": 0.001,
    "metre": 0.001,
    "metres": 0.001,
    "meter": 0.001,
    "meters": 0.001,
    "mile": 1.609344,
    "miles": 1.609344,
    "mi": 1.609344,
    "nautical-mile": 1.852,
    "nautical-miles": 1.852,
    "nmi": 1.852,
}
