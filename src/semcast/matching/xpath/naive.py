"""The oracle: one compiled lxml XPath per profile, each evaluated on every document."""

from __future__ import annotations

from collections.abc import Sequence

from lxml import etree

from semcast.matching.matches import Matches
from semcast.matching.xpath.documents import Documents
from semcast.matching.xpath.engine import DocumentEngine
from semcast.profiles.xpath import XPathProfile
from semcast.profiles.xpath.profile import xpath_1
from semcast.profiles.xpath.syntax import Expression


class LxmlEngine(DocumentEngine):
    """Asks libxml2 for every profile: O(profiles) per document."""

    def __init__(self, profiles: Sequence[XPathProfile]) -> None:
        super().__init__(profiles)
        self._paths = [compiled(profile.expression) for profile in profiles]

    def match(self, documents: Documents) -> Matches:
        paths = self._paths
        found = [
            [] if tree is None else [index for index, path in enumerate(paths) if path(tree)]
            for tree in documents.trees
        ]
        return Matches.of_rows(found)


def compiled(expression: Expression) -> etree.XPath:
    """``boolean(expression)`` at the document node, as one libxml2 expression.

    lxml evaluates a relative path at the root *element*, also when it is given a tree; the step
    ``/self::node()`` in front is what makes the document node the context.
    """
    text, namespaces = xpath_1(expression)
    return etree.XPath(
        f"boolean(/self::node()[boolean({text})])", namespaces=namespaces, regexp=False, smart_strings=False
    )
