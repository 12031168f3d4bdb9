"""What engines of semantic profiles share: descriptors in, matches out."""

from __future__ import annotations

from abc import ABC, abstractmethod

from semcast.matching.matches import Matches
from semcast.matching.semantic.descriptors import Descriptors
from semcast.profiles.semantic import Node


class SemanticEngine(ABC):
    """An immutable matcher of a fixed list of profiles."""

    @abstractmethod
    def found(self, root: Node) -> list[int]:
        """The numbers of the profiles that match a descriptor, ascending."""

    def match(self, descriptors: Descriptors) -> Matches:
        found = [[] if node is None else self.found(node) for node in descriptors.nodes]
        return Matches.of_rows(found)

    def prepare(self) -> None:  # noqa: B027
        """The first match does nothing that others do not."""
