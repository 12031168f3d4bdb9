"""Interest profiles on content descriptors: semantic addresses (the *thesis*, chapter 3).

Content descriptor → nodes with a name, a text and maybe a place; InterestProfile → an expression over them, in XML as
the thesis writes it or in a short notation; the algebra that routers need: covers,
overlaps, aggregate, simplify, truncate, selectivity, affinity. Names have their namespaces.
Knows text and nothing else: no packets' XML, batches, engines, routers or networks.
"""

from semcast.profiles.semantic.algebra import affinity, aggregate, simplify, size, truncate
from semcast.profiles.semantic.containment import covers, disjoint, implies, overlaps
from semcast.profiles.semantic.descriptor import Node
from semcast.profiles.semantic.markup import MAX_DEPTH, MAX_NODES, MAX_TEXT
from semcast.profiles.semantic.profile import InterestProfile, parse, parts
from semcast.profiles.semantic.selectivity import Distribution, nodes_needed, selectivity
from semcast.profiles.semantic.syntax import ANYTHING, NOTHING, Expression

__all__ = [
    "ANYTHING",
    "MAX_DEPTH",
    "MAX_NODES",
    "MAX_TEXT",
    "NOTHING",
    "Distribution",
    "Expression",
    "InterestProfile",
    "Node",
    "affinity",
    "aggregate",
    "covers",
    "disjoint",
    "implies",
    "nodes_needed",
    "overlaps",
    "parse",
    "parts",
    "selectivity",
    "simplify",
    "size",
    "truncate",
]
