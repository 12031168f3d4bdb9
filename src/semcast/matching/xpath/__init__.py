"""XPath engines: many profiles × the XML documents in a batch's ``payload`` column → Matches.

Documents (each read once, with nothing to trust, into arrays or trees), DocumentEngine (``dfa``, and ``lxml``, the
oracle), kernels (compiled loops), XPathMatcher (profiles that come and go, and a count of what could not be read).
Knows Arrow columns, bytes and libxml2's trees; knows no channels and no networks.
"""

from semcast.matching.xpath.matcher import ENGINES, XPathMatcher

__all__ = ["ENGINES", "XPathMatcher"]
