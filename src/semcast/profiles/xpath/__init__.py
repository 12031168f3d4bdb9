"""XPath profiles: boolean XPath 1.0 over XML messages, without positions (*2004* §2, *2005* §2).

Profile → expression of paths; Path → steps; Step → axis, name, predicates; names carry their namespace.
The meaning of a profile is ``boolean(<text>)``, evaluated by XPath 1.0 with the document node as context.
Knows text and nothing else: no XML parser, no batches, engines, channels or networks.
"""

from semcast.profiles.xpath.containment import covers, overlaps
from semcast.profiles.xpath.lexer import MAX_TEXT
from semcast.profiles.xpath.parser import MAX_NESTING, MAX_PARTS, MAX_STEPS
from semcast.profiles.xpath.profile import XPathProfile, parse

__all__ = ["MAX_NESTING", "MAX_PARTS", "MAX_STEPS", "MAX_TEXT", "XPathProfile", "covers", "overlaps", "parse"]
