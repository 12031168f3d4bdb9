"""What the engines of XPath profiles share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from semcast.matching.matches import Matches
from semcast.matching.xpath.documents import Documents
from semcast.profiles.xpath import XPathProfile


class DocumentEngine(ABC):
    """An immutable matcher of a fixed list of profiles.

    What engines compile cannot be pickled, so only the profiles travel; the other side builds the engine anew.
    """

    def __init__(self, profiles: Sequence[XPathProfile]) -> None:
        self.profiles = tuple(profiles)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.profiles,)

    @abstractmethod
    def match(self, documents: Documents) -> Matches:
        """Match each document; what cannot be read matches nothing."""

    def prepare(self) -> None:  # noqa: B027
        """States of the automaton are made as documents need them: nothing can be done before."""
