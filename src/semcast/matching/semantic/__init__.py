"""Engines of semantic profiles: all profiles' trees as one (``shared``), and each on its own (``naive``, the oracle).

Descriptors (what payloads say, read once), Scope (a place in the shared tree), SemanticMatcher (profiles that come and
go). Knows no routers: what they need of an engine is ``found`` for one descriptor.
"""

from semcast.matching.semantic.descriptors import descriptor
from semcast.matching.semantic.matcher import ENGINES, SemanticMatcher
from semcast.matching.semantic.naive import evaluate
from semcast.matching.semantic.shared import Prefilter, SharedEngine

__all__ = ["ENGINES", "Prefilter", "SemanticMatcher", "SharedEngine", "descriptor", "evaluate"]
