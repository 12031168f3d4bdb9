"""The oracle: every profile evaluated on every descriptor, as its expression says."""

from __future__ import annotations

from collections.abc import Sequence

from semcast.matching.semantic.engine import SemanticEngine
from semcast.profiles.semantic import InterestProfile, Node
from semcast.profiles.semantic.syntax import And, Distance, Expression, Has, Not, Or, Range, Text
from semcast.profiles.semantic.values import distance_km


class NaiveEngine(SemanticEngine):
    """Testing each profile: O(profiles) per descriptor."""

    def __init__(self, profiles: Sequence[InterestProfile]) -> None:
        self._expressions = [profile.expression for profile in profiles]

    def found(self, root: Node) -> list[int]:
        return [number for number, expression in enumerate(self._expressions) if evaluate(expression, root)]


def evaluate(expression: Expression, node: Node) -> bool:
    """Does the expression hold at the node? From the root down; stops where either tree ends (thesis §3.5)."""
    match expression:
        case Has(name, condition):
            return any(child.name == name and evaluate(condition, child) for child in node.children)
        case Text(value):
            return node.text == value
        case Range(low, high):
            return node.number is not None and low < (node.number, 0.5) < high
        case Distance(within_km, latitude, longitude):
            return node.place is not None and _far(node.place, latitude, longitude) <= within_km
        case Not(item):
            return not evaluate(item, node)
        case And(items):
            return all(evaluate(item, node) for item in items)
        case Or(items):
            return any(evaluate(item, node) for item in items)
    raise TypeError(f"{expression!r} is no expression")


def _far(place: tuple[float, float], latitude: float, longitude: float) -> float:
    far = distance_km(*place, latitude, longitude)
    assert far is not None  # places off the globe are none
    return far
