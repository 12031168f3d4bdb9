"""The oracle: one compiled lxml XPath per profile, each evaluated on every document."""

from __future__ import annotations

from collections.abc import Sequence

from semcast.matching.xpath.documents import Tree
from semcast.matching.xpath.engine import DocumentEngine, compiled
from semcast.profiles.xpath import XPathProfile


class LxmlEngine(DocumentEngine):
    """Asks libxml2 for every profile: O(profiles) per document."""

    def __init__(self, profiles: Sequence[XPathProfile]) -> None:
        super().__init__(profiles)
        self._paths = [compiled(profile.expression) for profile in profiles]

    def matched(self, tree: Tree) -> list[int]:
        return [index for index, path in enumerate(self._paths) if path(tree)]
