"""The matcher of interest profiles."""

from __future__ import annotations

from semcast.matching.payload_matcher import PayloadMatcher
from semcast.matching.semantic.descriptors import Descriptors
from semcast.matching.semantic.engine import SemanticEngine
from semcast.matching.semantic.naive import NaiveEngine
from semcast.matching.semantic.shared import SharedEngine
from semcast.profiles.semantic import InterestProfile

ENGINES: dict[str, type[SemanticEngine]] = {"shared": SharedEngine, "naive": NaiveEngine}


class SemanticMatcher(PayloadMatcher[InterestProfile]):
    """Match packets; one whose payload has no content descriptor that can be read is *unreadable*."""

    engines = ENGINES
    content = Descriptors
    quick = 60
