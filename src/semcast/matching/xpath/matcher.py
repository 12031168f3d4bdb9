"""The matcher of XPath profiles."""

from __future__ import annotations

from semcast.matching.payload_matcher import PayloadMatcher
from semcast.matching.xpath.dfa import DfaEngine
from semcast.matching.xpath.documents import Documents
from semcast.matching.xpath.engine import DocumentEngine
from semcast.matching.xpath.naive import LxmlEngine
from semcast.profiles.xpath import XPathProfile

ENGINES: dict[str, type[DocumentEngine]] = {"dfa": DfaEngine, "lxml": LxmlEngine}


class XPathMatcher(PayloadMatcher[XPathProfile]):
    """Match documents; one that is not well-formed, too large, too deep or has entities of its own is *unreadable*."""

    engines = ENGINES
    content = Documents
    quick = 20
