"""Destination masks: which gateways a message is for, and which gateways are behind each link of a channel's tree.

Bit g of a mask is the g-th gateway of the plan. A broker sends a message over a link iff its mask and the link's
have a gateway in common, and passes on only those bits: nothing can loop, and nobody gets what he did not want.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from semcast.model.bits import unpacked
from semcast.trees.demand import Demand
from semcast.trees.tree import Tree


def branch_masks(tree: Tree, gateways: Sequence[int]) -> dict[int, dict[int, int]]:
    """Per broker of the tree and each of its links there, by the broker at the other end, the gateways behind it."""
    bit = {node: 1 << number for number, node in enumerate(gateways)}
    every = sum(bit[node] for node in tree.nodes if node in bit)
    below = {node: bit.get(node, 0) for node in tree.nodes}
    masks: dict[int, dict[int, int]] = {node: {} for node in tree.nodes}
    for parent, child in reversed(tree.links.tolist()):
        below[parent] |= below[child]
        masks[parent][child] = below[child]
        masks[child][parent] = every & ~below[child]
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
