"""The filters of a semantic router: one per port and tree, and what is announced to others (thesis §3.3 and §3.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from semcast.matching.semantic import Prefilter, evaluate
from semcast.profiles.semantic import NOTHING, Expression, Node, aggregate, implies, size, truncate

Matching = Literal["shared", "prefilter", "each"]
"""How a packet's ports are found: in one tree of all filters; in one tree of their upper parts, then in the filters
that are left; or in each filter by itself."""


@dataclass(frozen=True)
class TreePorts:
    """A router's place in one tree: the neighbours it forwards to, and those to which it says what it wants.

    In an acyclic overlay, where packets may come from anywhere, these are the same. In a tree of one source they are
    the neighbours further down, and the one towards the source.
    """

    forward: tuple[str, ...]
    announce: tuple[str, ...]
    stream: str = ""
    """Whose packets travel along it: each stream has trees of its own."""


@dataclass
class PortCounts:
    """What went through one port."""

    packets_in: int = 0
    packets_out: int = 0
    filtered: int = 0
    """Packets that were not sent because the port's filter did not match."""
    copies: int = 0
    """Packets that came again, and were dropped."""
    updates_in: int = 0
    updates_out: int = 0
    update_bytes_out: int = 0


@dataclass
class Said:
    """What a neighbour was told last."""

    version: int
    wanted: Expression
    text: str
    at: float
    taken: bool = False


@dataclass
class Filters:
    """What each port of one tree wants. No port wants anything until it says so: there is no default route."""

    ports: TreePorts
    wanted: dict[str, Expression] = field(default_factory=dict)
    versions: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Per port the incarnation and version that it was said in."""
    said: dict[str, Said] = field(default_factory=dict)
    _tree: Prefilter[str] | None = None
    _depths: tuple[int | None, int | None] = (None, None)
    _cut: dict[tuple[str, int], Expression] = field(default_factory=dict)

    def set(self, port: str, wanted: Expression, version: tuple[int, int]) -> None:
        self.wanted[port], self.versions[port] = wanted, version
        self._tree = None
        self._cut.clear()

    def for_neighbour(self, port: str, local: Expression) -> Expression:
        """All that is wanted on this side of a port: by the users here, and behind the other ports."""
        return aggregate([local, *(wanted for other, wanted in sorted(self.wanted.items()) if other != port)])

    def covered(self, port: str, more: Expression) -> bool:
        """Does a neighbour know already that this is wanted?"""
        known = self.said.get(port)
        return known is not None and implies(more, known.wanted)

    def matching(
        self, root: Node, among: Sequence[str], how: Matching, prefilter_depth: int, shed: int | None
    ) -> list[str]:
        """Those of some ports that want a packet. With ``shed``, filters are looked at to that depth only."""
        if how == "each":
            return [port for port in among if self._wants(port, root, shed)]
        depth = shed if how == "shared" else prefilter_depth if shed is None else min(shed, prefilter_depth)
        if self._tree is None or self._depths != (depth, shed):
            self._tree, self._depths = Prefilter(self.wanted, depth), (depth, shed)
        left = [port for port in self._tree.candidates(root) if port in among]
        if how == "shared" or depth == shed:
            return left
        return [port for port in left if self._wants(port, root, shed)]

    def _wants(self, port: str, root: Node, shed: int | None) -> bool:
        wanted = self.wanted.get(port, NOTHING)
        if shed is not None:
            if (port, shed) not in self._cut:
                self._cut[port, shed] = truncate(wanted, shed)
            wanted = self._cut[port, shed]
        return evaluate(wanted, root)

    def nodes(self) -> int:
        """The size of all filters, in nodes."""
        return sum(map(size, self.wanted.values()))


def acyclic(neighbours: Sequence[str], streams: Sequence[str] = ("",)) -> Mapping[str, TreePorts]:
    """A router's place in an overlay without cycles, as the thesis has it: one tree, all neighbours alike."""
    return {stream: TreePorts(tuple(neighbours), tuple(neighbours), stream) for stream in streams}
