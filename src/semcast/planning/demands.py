"""From matches to demand: which gateways want which message."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from semcast.matching.matches import Matches
from semcast.planning import kernels
from semcast.planning.subscriptions import Subscriptions
from semcast.trees.demand import Demand
from semcast.trees.topology import Topology

Masks = NDArray[np.uint64]


def mask_words(gateways: int) -> int:
    return max(1, (gateways + 63) >> 6)


def profile_masks(gateway_sets: Sequence[int], gateways: int) -> Masks:
    """Per profile its gateways as machine words, gateway 0 in the lowest bit of the first."""
    words = mask_words(gateways)
    packed = bytearray().join(held.to_bytes(8 * words, "little") for held in gateway_sets)
    return np.frombuffer(packed, np.uint64).reshape(len(gateway_sets), words)


def masks_of(matches: Matches, of_profile: Masks) -> Masks:
    """Per message the gateways that want it: the union over its profiles."""
    found = np.zeros((matches.rows, of_profile.shape[1]), np.uint64)
    indices = matches.indices.astype(np.int32, copy=False)
    kernels.union_masks(matches.indptr.astype(np.int64, copy=False), indices, np.ascontiguousarray(of_profile), found)
    return found


def by_gateway(masks: Masks, gateways: int) -> Masks:
    """The same bits a row per gateway, 64 messages a word."""
    found = np.zeros((gateways, (len(masks) + 63) >> 6), np.uint64)
    kernels.transposed(masks, found)
    return found


def demand_of(matches: Matches, subscriptions: Subscriptions, topology: Topology) -> Demand:
    """What matches over the distinct profiles ask of a topology."""
    of_profile = profile_masks(subscriptions.gateway_sets, len(subscriptions.gateways))
    wanted = by_gateway(masks_of(matches, of_profile), len(subscriptions.gateways))
    times = np.bincount(matches.indices, minlength=len(subscriptions.distinct)).astype(np.int64)
    nodes = np.array([topology.node(gateway) for gateway in subscriptions.gateways], np.int32)
    return Demand(nodes, wanted, matches.rows, times @ subscriptions.clients)
