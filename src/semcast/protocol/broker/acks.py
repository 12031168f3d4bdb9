"""Acks on their way up a tree: what all gateways below have, as one position per source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from semcast.protocol.contract import Command, Send
from semcast.protocol.wire.frames import Ack, Key

if TYPE_CHECKING:
    from semcast.protocol.broker.broker import Table

Positions = dict[str, int]


class AckTable:
    """The newest word of each child, and of the gateway here, per tree.

    A broker that has fallen knows nothing; it says nothing until all children have spoken again, so it never says more
    than they.
    """

    def __init__(self, me: str) -> None:
        self._me = me
        self._said: dict[Key, dict[str, Positions]] = {}

    def keep(self, keys: Mapping[Key, Table]) -> None:
        self._said = {key: said for key, said in self._said.items() if key in keys}

    def take(self, key: Key, child: str, positions: Positions) -> None:
        self._said.setdefault(key, {})[child] = positions

    def upwards(self, tables: Mapping[Key, Table]) -> list[Command]:
        """What to tell the parent in each tree, or, at its root, the sources."""
        commands: list[Command] = []
        for key, table in tables.items():
            if not table.entry.acks:
                continue
            positions = self._together(key, table)
            if table.entry.parent is not None:
                if positions:
                    commands.append(Send(table.entry.parent, Ack(key, positions)))
            else:
                commands += [Send(source, Ack(key, {source: p}, True)) for source, p in sorted(positions.items())]
        return commands

    def _together(self, key: Key, table: Table) -> Positions:
        """The least of all that have to speak; only sources of which all of them do."""
        speakers = table.children() + ([self._me] if table.entry.bit is not None else [])
        said = self._said.get(key, {})
        if not speakers or any(speaker not in said for speaker in speakers):
            return {}
        first, *others = [said[speaker] for speaker in speakers]
        return {
            source: min(place, *(other[source] for other in others)) if others else place
            for source, place in first.items()
            if all(source in other for other in others)
        }
