"""Affinity: how much two interest profiles resemble each other, as a number from 0 to 1.

The thesis (§3.4.1) defines it as the extent to which two trees match the same packets, found "by counting the number of
common nodes or by overlaying one tree onto the other", and leaves a measure to future work. Here it is: both
trees are laid over each other from the root, and affinity is the number of nodes that they have in common over the
number of nodes that either has. A node is a name or a value with the way to it; denials are nodes of their own.
``measured`` is the same for packets: those that match both over those that match either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from semcast.profiles.semantic.syntax import And, Expression, Has, Not, Or


def affinity(a: Expression, b: Expression) -> float:
    """Common nodes over all nodes: 1 for equal profiles, 0 for profiles that share nothing but the root."""
    mine, other = set(_nodes(a, ())), set(_nodes(b, ()))
    return len(mine & other) / len(mine | other) if mine | other else 1.0


def measured(pairs: Iterable[tuple[bool, bool]]) -> float:
    """Packets that match both over packets that match either; each pair says so of one packet. 0 where none matches."""
    both = either = 0
    for one, other in pairs:
        both += one and other
        either += one or other
    return both / either if either else 0.0


def _nodes(expression: Expression, way: tuple[Any, ...], root: bool = True) -> Iterator[tuple[Any, ...]]:
    """All nodes of the tree but those right below the root, which all profiles share."""
    match expression:
        case Has(name, condition):
            if not root:
                yield (*way, name)
            yield from _nodes(condition, (*way, name), False)
        case Not(item):
            yield (*way, "not", item.key)
        case And(items) | Or(items):
            for item in items:
                yield from _nodes(item, way, root)
        case _:
            yield (*way, expression.key)
