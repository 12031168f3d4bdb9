"""How much a profile lets through: its selectivity S, input packets per packet that matches (thesis §5.1).

Nodes are taken to be independent, so the shares of a conjunction multiply. What is known of a node's values is a
*distribution*: declared (uniform over values or a range), or counted from a sample of descriptors (any).
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from semcast.profiles.semantic.descriptor import Node
from semcast.profiles.semantic.names import DESCRIPTION, ROOT
from semcast.profiles.semantic.syntax import And, Distance, Expression, Has, Not, Or, Range, Text
from semcast.profiles.semantic.values import Cut, distance_km

Path = tuple[str, ...]
Domain = Sequence[str] | tuple[float, float]
"""What a node's values are drawn from, each as likely: texts, or the numbers between two."""


def selectivity(expression: Expression, distribution: Distribution) -> float:
    """S: on average one of so many packets matches; infinite where none does."""
    share = distribution.share(expression)
    return math.inf if share <= 0 else 1 / share


def nodes_needed(wanted: float, kinds: Sequence[tuple[float, float]]) -> float:
    """N: how many nodes a profile must test for a selectivity, if a share p of them has selectivity Q each: (p, Q).

    It grows with the logarithm of what is wanted (thesis §5.1).
    """
    return math.log(wanted) / sum(share * math.log(each) for share, each in kinds)


@dataclass
class Distribution:
    """What nodes at one place of the tree look like."""

    presence: float = 0.5
    """How often a parent has such a node; a node of which nothing is known is there every other time."""
    count: float = 1.0
    """How many of them it has then, on average."""
    below: dict[str, Distribution] = field(default_factory=dict)
    closed: bool = False
    """Is a name that is not below never there, rather than unknown?"""
    texts: dict[str, float] = field(default_factory=dict)
    numbers: list[float] = field(default_factory=list)
    span: tuple[float, float] | None = None
    places: list[tuple[float, float]] = field(default_factory=list)
    nodes: int = 0
    """How many nodes were counted; 0 where the distribution was declared."""

    @staticmethod
    def declared(domains: Mapping[Path, Domain]) -> Distribution:
        """Uniform: by the names from a description's child on, texts or the ends of a range; all else is even odds."""
        root = Distribution(presence=1.0)
        for path, domain in sorted(domains.items()):
            at = root
            for name in path:
                at = at.below.setdefault(name, Distribution())
            at.presence = 1.0
            low = domain[0] if domain else ""
            if isinstance(low, str):
                at.texts = {str(text): 1 / len(domain) for text in domain}
            else:
                at.span = (float(domain[0]), float(domain[1]))
        return Distribution(presence=1.0, below={DESCRIPTION: root})

    @staticmethod
    def sampled(roots: Iterable[Node]) -> Distribution:
        """As counted in descriptors."""
        found = _counted([root for root in roots if root.name == ROOT])
        found.presence = 1.0
        return found

    def share(self, expression: Expression) -> float:
        """How likely the expression holds at a node here."""
        match expression:
            case Has(name, condition):
                child = self.below.get(name)
                if child is None:
                    child = Distribution(presence=0.0 if self.closed else 0.5)
                none = float((1 - child.share(condition)) ** child.count)
                return child.presence * (1 - none)
            case Text(value):
                return self.texts.get(value, 0.0 if self.nodes or self.texts else 0.5)
            case Range(low, high):
                return self._between(low, high)
            case Distance(within_km, latitude, longitude):
                return self._near(within_km, latitude, longitude)
            case Not(item):
                return 1 - self.share(item)
            case And(items):
                return math.prod(map(self.share, items))
            case Or(items):
                return self._any(items)
        raise TypeError(f"{expression!r} is no expression")

    def _any(self, items: Sequence[Expression]) -> float:
        """A node has one text, so its values exclude each other and add up; the rest is independent."""
        values = [item for item in items if isinstance(item, Text | Range)]
        others = [1 - self.share(item) for item in items if not isinstance(item, Text | Range)]
        return 1 - (1 - min(1.0, sum(map(self.share, values)))) * math.prod(others)

    def _between(self, low: Cut, high: Cut) -> float:
        if self.span is not None:
            bottom, top = self.span
            return max(0.0, min(high[0], top) - max(low[0], bottom)) / (top - bottom) if top > bottom else 1.0
        if not self.nodes:
            return 0.5
        side = bisect_right if low[1] else bisect_left
        end = bisect_right if high[1] else bisect_left
        return max(0, end(self.numbers, high[0]) - side(self.numbers, low[0])) / self.nodes

    def _near(self, within_km: float, latitude: float, longitude: float) -> float:
        if not self.nodes:
            return 0.5
        near = [distance_km(*place, latitude, longitude) for place in self.places]
        return sum(far is not None and far <= within_km for far in near) / self.nodes


def _counted(nodes: Sequence[Node]) -> Distribution:
    """The distribution of all nodes at one place, from those that were seen there."""
    found = Distribution(closed=True, nodes=len(nodes))
    found.texts = {text: count / len(nodes) for text, count in Counter(node.text for node in nodes).items()}
    found.numbers = sorted(node.number for node in nodes if node.number is not None)
    found.places = [node.place for node in nodes if node.place is not None]
    children: dict[str, list[Node]] = {}
    parents: Counter[str] = Counter()
    for node in nodes:
        parents.update({child.name for child in node.children})
        for child in node.children:
            children.setdefault(child.name, []).append(child)
    for name, seen in children.items():
        below = found.below[name] = _counted(seen)
        below.presence, below.count = parents[name] / len(nodes), len(seen) / parents[name]
    return found
