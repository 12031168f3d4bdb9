"""XPath engines: many profiles × the XML documents in a batch's ``payload`` column → Matches.

Documents (each parsed once, by lxml with nothing to trust), DocumentEngine (``dfa``, and ``lxml``, the
oracle), XPathMatcher (profiles that come and go, and a count of what could not be read).
Knows Arrow columns and libxml2's trees; knows no channels and no networks.
"""

from semcast.matching.xpath.matcher import ENGINES, XPathMatcher

__all__ = ["ENGINES", "XPathMatcher"]
