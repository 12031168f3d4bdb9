"""Networks that others drew or measured, as topologies: GraphML, and what its nodes and links need to be brokers'.

A Network is what a file says; ``cleaned`` makes a topology of it and counts what it had to change.
"""

from semcast.trees.imports.graphml import read_graphml
from semcast.trees.imports.network import Changes, Edge, Network, Node, cleaned

__all__ = ["Changes", "Edge", "Network", "Node", "cleaned", "read_graphml"]
