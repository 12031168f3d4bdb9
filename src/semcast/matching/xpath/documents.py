"""From a batch's payloads to documents, read once for all engines that look at them.

What is refused matches nothing, is told with the reason, and costs no other message its matches.
"""

from __future__ import annotations

from functools import cached_property

from semcast.matching import markup
from semcast.matching.markup import MAX_BYTES, Refusal, Tree, parser
from semcast.matching.payloads import COLUMN, Payloads, payloads_of
from semcast.matching.xpath.flat import Flat, scanned, with_trees

__all__ = ["COLUMN", "MAX_BYTES", "Documents", "Refusal", "payloads_of"]


class Documents:
    """Consecutive messages: ``flat`` as engines match them, ``trees`` as libxml2 reads them, each made at most once."""

    def __init__(self, payloads: Payloads) -> None:
        self._source, self._begins, self._ends, self._encoding, self._refused = payloads
        self.missing = payloads.missing

    @property
    def num_rows(self) -> int:
        return len(self._begins)

    @property
    def refused(self) -> dict[int, Refusal]:
        """What is there and cannot be read, by row, and why."""
        _ = self.trees if "trees" in self.__dict__ else self.flat
        return dict(sorted(self._refused.items()))

    @cached_property
    def trees(self) -> list[Tree | None]:
        return self._parsed(range(self.num_rows))

    @cached_property
    def flat(self) -> Flat:
        """All that can be read: most of it by the scanner, the rest by libxml2."""
        found = scanned(self._source, self._begins, self._ends)
        unread = [row for row in range(self.num_rows) if self._begins[row] >= 0 and not found.readable(row)]
        pairs = zip(unread, self._parsed(unread), strict=True)
        return with_trees(found, [(row, tree) for row, tree in pairs if tree is not None])

    def _parsed(self, rows: range | list[int]) -> list[Tree | None]:
        """The trees of some rows; None for what is missing, and for what is refused, which is remembered."""
        trusted = parser(self._encoding) if rows else None
        found: list[Tree | None] = []
        for row in rows:
            begin, end = self._begins[row], self._ends[row]
            tree = markup.tree_of(self._source[begin:end].tobytes(), trusted) if begin >= 0 and trusted else None
            if isinstance(tree, Refusal):
                self._refused[row], tree = tree, None
            found.append(tree)
        return found
