"""Destination masks: which gateways a message is for, and which gateways are behind each link of a channel's tree.

Bit g of a mask is the g-th gateway of the plan. A broker sends a message over a link iff its mask and the link's
have a gateway in common, and passes on only those bits: nothing can loop, and nobody gets what he did not want.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from semcast.model.bits import unpacked
from semcast.trees.demand import Demand

Node = TypeVar("Node", bound=Hashable)


def below(root: Node, links: Sequence[tuple[Node, Node]], bits: Mapping[Node, int]) -> dict[Node, int]:
    """Per broker of a tree the gateways at it and behind it, seen from the root; links lead from parent to child."""
    found = {root: bits.get(root, 0)} | {child: bits.get(child, 0) for _, child in links}
    for parent, child in reversed(links):
        found[parent] |= found[child]
    return found


def branch_masks(
    root: Node, links: Sequence[tuple[Node, Node]], bits: Mapping[Node, int]
) -> dict[Node, dict[Node, int]]:
    """Per broker of a tree and each of its links there, by the broker at the other end, the gateways behind it."""
    held = below(root, links, bits)
    masks: dict[Node, dict[Node, int]] = {node: {} for node in held}
    for parent, child in links:
        masks[parent][child] = held[child]
    for parent, child in links:
        masks[child][parent] = held[root] & ~held[child]
    return masks


def mask_bytes(gateways: int, interested: NDArray[np.int64]) -> NDArray[np.int64]:
    """The header bytes of masks for so many gateways each: one that tells the form, and the shorter of two.

    Either a bit for every gateway of the plan, or the numbers of those that want the message, of one byte each up to
    256 gateways, of two beyond.
    """
    number = 1 if gateways <= 256 else 2
    return 1 + np.minimum((gateways + 7) // 8, number * interested)


def interested(demand: Demand) -> NDArray[np.int64]:
    """How many gateways want each message."""
    found = np.zeros(demand.messages, np.int64)
    for row in demand.wanted:
        found += unpacked(row, demand.messages)
    return found
