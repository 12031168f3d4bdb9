"""What a run cost: transmissions, bytes by kind of frame, drops by reason.

One message over one overlay link is one transmission, whatever frame carries it. A frame that goes past the trees
counts once per hop of the shortest path, as it would on the overlay.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from semcast.protocol.contract import Passed
from semcast.protocol.wire.data_view import DataView
from semcast.protocol.wire.frames import AnyFrame, Data, Leg, Repair
from semcast.protocol.wire.frames.semantic import Packet
from semcast.protocol.wire.framing import whole

DATA = frozenset({"data", "leg", "packet"})
CLIENTS = frozenset(
    {"publish", "published", "refused", "attach", "attached", "deliver", "progress", "gap", "taken", "detach"}
    | {"detached", "error", "semantic-subscribe", "semantic-subscribed", "semantic-unsubscribe", "semantic-offer"}
)
"""Between clients and brokers: no part of the overlay's overhead."""
GROUPS = {
    "tally": frozenset({"tally"}),
    "ack": frozenset({"ack"}),
    "repair": frozenset({"fetch", "fill", "repair", "caught"}),
    "beat": frozenset({"beat", "heartbeat", "lease", "welcome"}),
}
"""What is not data and in no group is control."""


class Kind:
    """The sums of one kind of frame."""

    __slots__ = ("byte_hops", "carried", "frames", "name", "size_bytes")

    def __init__(self, name: str) -> None:
        self.name = name
        self.frames = self.size_bytes = self.byte_hops = 0
        self.carried = 0
        """Messages × hops: its transmissions."""


class Meters:
    """Counts what parties send, whether it arrives or not."""

    def __init__(self) -> None:
        self._kinds: dict[type, Kind] = {}
        self.links: Counter[tuple[str, str]] = Counter()
        """(from, to) → transmissions of data over that overlay link."""
        self.messages: dict[str, Counter[int]] = {}
        """Source → message number → transmissions of data."""
        self.drops: Counter[str] = Counter()

    def passed(self, passed: Passed, hops: int, link: tuple[str, str] | None) -> None:
        """Frames of data that go on as bytes."""
        kind = self._kinds.get(Data) or self._kind(Data)
        kind.frames += passed.frames
        kind.size_bytes += len(passed.data)
        kind.byte_hops += len(passed.data) * hops
        kind.carried += passed.messages * hops
        if link is not None:
            self.links[link] += passed.messages
            at = 0
            while at < len(passed.data):
                view = DataView(passed.data[at : at + whole(passed.data, at)])
                self.messages.setdefault(view.source, Counter()).update(view.numbers.tolist())
                at += len(view.data)

    def sent(self, frame: AnyFrame, size_bytes: int, hops: int, link: tuple[str, str] | None) -> None:
        """A frame goes ``hops`` links far, or over the one overlay link that is named."""
        cls = type(frame)
        kind = self._kinds.get(cls) or self._kind(cls)
        kind.frames += 1
        kind.size_bytes += size_bytes
        kind.byte_hops += size_bytes * hops
        if cls is Data or cls is Leg or cls is Repair:
            numbers = frame.numbers  # type: ignore[union-attr]
            kind.carried += len(numbers) * hops
            if link is not None and cls is not Repair:
                self.links[link] += len(numbers)
                self.messages.setdefault(frame.source, Counter()).update(numbers)  # type: ignore[union-attr]
        elif isinstance(frame, Packet):
            kind.carried += hops
            if link is not None:
                self.links[link] += 1
                self.messages.setdefault(frame.source, Counter())[frame.number] += 1

    def kind(self, name: str) -> Kind:
        """The sums of a kind, by its name on the wire; zeros if there were none."""
        return next((kind for kind in self._kinds.values() if kind.name == name), Kind(name))

    @property
    def transmissions(self) -> int:
        return self.links.total()

    def overhead(self) -> dict[str, float]:
        """Bytes over links that are not data, in percent of those that are: in all, and by group."""
        data = sum(kind.byte_hops for kind in self._kinds.values() if kind.name in DATA)
        groups: Counter[str] = Counter()
        for kind in self._kinds.values():
            if kind.name not in DATA | CLIENTS:
                groups[next((name for name, kinds in GROUPS.items() if kind.name in kinds), "control")] += (
                    kind.byte_hops
                )
        shares = {name: 100 * groups[name] / data if data else 0.0 for name in (*GROUPS, "control")}
        return {"all": sum(shares.values()), **shares}

    def as_dict(self) -> dict[str, Any]:
        """Everything, in an order that depends on nothing but what was counted."""
        data = self.transmissions
        repaired = self.kind("repair").carried
        sent = sum(len(numbers) for numbers in self.messages.values())
        return {
            "transmissions": data,
            "messages": sent,
            "transmissions_per_message": data / sent if sent else 0.0,
            "repair_transmissions": repaired,
            "repair_percent_of_transmissions": 100 * repaired / data if data else 0.0,
            "overhead_percent_of_data_bytes": self.overhead(),
            "kinds": {
                kind.name: {"frames": kind.frames, "bytes": kind.size_bytes, "byte_hops": kind.byte_hops}
                for kind in sorted(self._kinds.values(), key=lambda kind: kind.name)
            },
            "links": {f"{a}>{b}": count for (a, b), count in sorted(self.links.items())},
            "drops": dict(sorted(self.drops.items())),
        }

    def _kind(self, cls: type) -> Kind:
        made = self._kinds[cls] = Kind(cls.__struct_config__.tag)  # type: ignore[attr-defined]
        return made
