"""From matches to trees, by one plan: for sources, and for whoever matches and routes in their place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from semcast.matching.matches import Matches
from semcast.model.message import unpacked
from semcast.planning.plan import Plan, PlannedChannel
from semcast.planning.router import ChannelBatch, MaskRouter, Router
from semcast.planning.schemes import scheme_of
from semcast.protocol.stores import AWAY
from semcast.protocol.streams import envelope_refusal
from semcast.protocol.wire.frames import Append, Key, Switch

Routes = tuple[tuple[Key, int], ...]
"""The trees that a message takes, each with the gateways that it reaches there, as bits."""


class Routing:
    """One plan at one source. Profiles are numbered as the switch has them."""

    def __init__(self, switch: Switch, source: str) -> None:
        self.epoch = switch.epoch
        self.bits = {gateway: bit for bit, gateway in enumerate(switch.gateways)}
        self._per_hop = scheme_of(switch.scheme).per_hop
        self._keys = [tree.key for tree in switch.trees]
        self._reached = [sum(1 << bit for bit in tree.gateways) for tree in switch.trees]
        self._held = [sum(1 << self.bits[gateway] for gateway in held) for _, _, held in switch.profiles]
        self._away = sum(1 << self.bits[gateway] for gateway in switch.absent)
        reached = {bit for tree in switch.trees for bit in tree.gateways}
        self._present = [gateway for bit, gateway in enumerate(switch.gateways) if bit in reached]
        self._whole = len(self._present) == len(switch.gateways)
        there = set(self._present)
        wanted = {name: tuple(gateway for gateway in held if gateway in there) for name, _, held in switch.profiles}
        self._router = Router(_plan(switch, wanted), source=source) if self._keys and switch.profiles else None

    def routes(self, matches: Matches) -> list[Routes]:
        """Per message its trees. Equal masks are looked at once."""
        found: list[list[tuple[Key, int]]] = [[] for _ in range(matches.rows)]
        for batch in self._router.route(matches) if self._router is not None else ():
            key, rows = self._keys[batch.channel], batch.rows.tolist()
            for row, mask in zip(rows, self._masks(batch, matches, rows), strict=True):
                if mask:
                    found[row].append((key, mask))
        if self._away:
            for row in range(matches.rows):
                owed = self._wanting(matches, row) & self._away
                if owed:
                    found[row].append((AWAY, owed))
        return [tuple(ways) for ways in found]

    def _masks(self, batch: ChannelBatch, matches: Matches, rows: list[int]) -> Iterable[int]:
        reached = self._reached[batch.channel]
        if batch.masks is not None:
            width, raw = batch.masks.shape[1] * batch.masks.itemsize, batch.masks.tobytes()
            parts = [raw[at : at + width] for at in range(0, len(raw), width)]
            known = {part: self._spread(int.from_bytes(part, "little")) for part in set(parts)}
            return [known[part] for part in parts]
        if self._per_hop:
            return [self._wanting(matches, row) & reached for row in rows]
        return [reached] * len(rows)

    def _wanting(self, matches: Matches, row: int) -> int:
        mask = 0
        for number in matches.indices[matches.indptr[row] : matches.indptr[row + 1]].tolist():
            mask |= self._held[number]
        return mask

    def _spread(self, mask: int) -> int:
        """Bits of the gateways that are there → bits of all."""
        if self._whole:
            return mask
        found = 0
        while mask:
            found |= 1 << self.bits[self._present[(mask & -mask).bit_length() - 1]]
            mask &= mask - 1
        return found


def _plan(switch: Switch, wanted: Mapping[str, tuple[str, ...]]) -> Plan:
    """The plan as a router has to see it: with the gateways that trees can reach."""
    reached = {bit for tree in switch.trees for bit in tree.gateways}
    present = tuple(gateway for bit, gateway in enumerate(switch.gateways) if bit in reached)
    channels = tuple(
        PlannedChannel(
            id=tree.key[0],
            stream=None,
            expression=tree.expression,
            profiles=(),
            gateways=tuple(switch.gateways[bit] for bit in tree.gateways),
            rendezvous=tree.rendezvous,
            tree=tree.links,
            rate=0.0,
        )
        for tree in switch.trees
    )
    return Plan(switch.term, switch.epoch, switch.scheme, present, dict(wanted), channels, {})


class MaskRouting:
    """One plan at one source, where the gateways of a message decide on its tree. Masks have the plan's bits."""

    def __init__(self, switch: Switch, source: str) -> None:
        self._keys = [tree.key for tree in switch.trees]
        reached = {bit for tree in switch.trees for bit in tree.gateways}
        self._present = sorted(reached)
        self._there = sum(1 << bit for bit in reached)
        self._words = max(1, (len(self._present) + 63) >> 6)
        self._router = MaskRouter(_plan(switch, {}), source) if self._keys and reached else None

    def routes(self, masks: Sequence[int]) -> list[Routes]:
        """Per mask its tree; gateways that no tree reaches are owed the message, and will fetch it."""
        found: list[list[tuple[Key, int]]] = [[] for _ in masks]
        if self._router is not None and masks:
            packed = np.zeros((len(masks), self._words), np.uint64)
            for row, mask in enumerate(masks):
                packed[row] = np.frombuffer(self._gathered(mask).to_bytes(8 * self._words, "little"), np.uint64)
            for batch in self._router.route(packed):
                for row in batch.rows.tolist():
                    found[row].append((self._keys[batch.channel], masks[row] & self._there))
        for row, mask in enumerate(masks):
            if mask & ~self._there:
                found[row].append((AWAY, mask & ~self._there))
        return [tuple(ways) for ways in found]

    def _gathered(self, mask: int) -> int:
        """Bits of all gateways → bits of those that trees reach."""
        return sum(1 << place for place, bit in enumerate(self._present) if mask >> bit & 1)


def append_frame(
    origin: str,
    first: int,
    since: int,
    epoch: int,
    bodies: Sequence[bytes],
    routes: Sequence[Routes],
    samples: Iterable[tuple[str, ...]] = (),
    version: int = 0,
) -> Append:
    """Routed messages as they travel to a source; at most 65,536."""
    different = {way: place for place, way in enumerate(dict.fromkeys(routes))}
    trees = {key: place for place, key in enumerate(dict.fromkeys(key for way in different for key, _ in way))}
    ways = tuple(
        tuple((trees[key], mask.to_bytes((mask.bit_length() + 7) // 8, "little")) for key, mask in way)
        for way in different
    )
    taken = b"".join(different[way].to_bytes(2, "little") for way in routes)
    return Append(origin, first, since, epoch, tuple(bodies), tuple(trees), ways, taken, tuple(samples), version)


class Unfit(Exception):
    """A routed message that makes no sense: its place in the frame, and why."""

    def __init__(self, place: int, reason: str) -> None:
        super().__init__(reason)
        self.place = place


def routes_of(append: Append, reached: Mapping[Key, int], streams: Mapping[str, object]) -> list[Routes]:
    """Per message of a frame its trees; Unfit where they cannot be those of the plan.

    ``reached`` has the gateways of each tree. Gateways take bodies apart, so a broken one must not get further.
    """
    ways: list[Routes] = []
    for way in append.ways:
        found = []
        for place, mask in way:
            key = append.trees[place] if place < len(append.trees) else ("?", place)
            gateways = int.from_bytes(mask, "little")
            if key not in reached or gateways & ~reached[key]:
                raise Unfit(0, f"the plan has no tree {key[0]} {key[1]} for these gateways")
            found.append((key, gateways))
        ways.append(tuple(found))
    if len(append.taken) != 2 * len(append.bodies):
        raise Unfit(0, f"{len(append.bodies)} messages with {len(append.taken) // 2} ways")
    places = np.frombuffer(append.taken, "<u2").tolist()
    if any(place >= len(ways) for place in places):
        raise Unfit(0, "a way that is not there")
    for place, body in enumerate(append.bodies):
        try:
            message = unpacked(body)
        except ValueError as error:
            raise Unfit(place, f"no message: {error}") from None
        if streams and message.stream not in streams:
            raise Unfit(place, f"there is no stream {message.stream!r}")
        reason = envelope_refusal(message)
        if reason is not None:
            raise Unfit(place, reason)
    return [ways[place] for place in places]
