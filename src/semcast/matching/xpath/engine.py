"""What the engines of XPath profiles share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from lxml import etree

from semcast.matching.matches import Matches
from semcast.matching.xpath.documents import Documents, Tree
from semcast.profiles.xpath import XPathProfile
from semcast.profiles.xpath.profile import xpath_1
from semcast.profiles.xpath.syntax import Expression


class DocumentEngine(ABC):
    """An immutable matcher of a fixed list of profiles, one parsed document at a time.

    Compiled paths cannot be pickled, so only the profiles travel; the other side builds the engine anew.
    """

    def __init__(self, profiles: Sequence[XPathProfile]) -> None:
        self.profiles = tuple(profiles)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.profiles,)

    @abstractmethod
    def matched(self, tree: Tree) -> list[int]:
        """The positions of the profiles that match one document, ascending."""

    def match(self, documents: Documents) -> Matches:
        found = [[] if tree is None else self.matched(tree) for tree in documents.trees]
        indptr = np.concatenate(([0], np.cumsum([len(rows) for rows in found], dtype=np.int64)))
        return Matches(indptr, np.fromiter((i for rows in found for i in rows), np.int64, int(indptr[-1])))


def compiled(expression: Expression) -> etree.XPath:
    """``boolean(expression)`` at the document node, as one libxml2 expression.

    lxml evaluates a relative path at the root *element*, also when it is given a tree; the step
    ``/self::node()`` in front is what makes the document node the context.
    """
    text, namespaces = xpath_1(expression)
    return etree.XPath(
        f"boolean(/self::node()[boolean({text})])", namespaces=namespaces, regexp=False, smart_strings=False
    )
