"""Overlays of brokers, dissemination trees over them, and what they cost.

Topology (brokers, links, roles), Graph (the same as arrays), trees (low-cost, delay-bounded, shortest-path,
Takahashi–Matsuyama, local search, a lower bound), evaluation (link transmissions of messages over trees).
Topologies come from ``generators`` (drawn at random), ``imports`` (networks as found) or a file.
Knows no profiles and no channels: a message is the set of gateways that want it.
"""

from semcast.trees.demand import Demand
from semcast.trees.dual_ascent import LowerBound, lower_bound
from semcast.trees.evaluate import Routed
from semcast.trees.graph import Graph, Paths
from semcast.trees.joins import BoundedJoin, Routes, join, join_within, low_cost_tree
from semcast.trees.steiner import (
    QUICK,
    THOROUGH,
    Effort,
    SteinerTree,
    local_search,
    shortest_path_tree,
    takahashi_matsuyama,
)
from semcast.trees.topology import Broker, Link, Topology, TopologyError
from semcast.trees.tree import Change, DisseminationTree, Tree

__all__ = [
    "QUICK", "THOROUGH", "BoundedJoin", "Broker", "Change", "Demand", "DisseminationTree", "Effort", "Graph", "Link",
    "LowerBound", "Paths", "Routed", "Routes", "SteinerTree", "Topology", "TopologyError", "Tree", "join",
    "join_within", "local_search", "low_cost_tree", "lower_bound", "shortest_path_tree", "takahashi_matsuyama",
]  # fmt: skip
