"""What an overlay said of itself at a moment, as it was told; views are made from this."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from semcast.model.message import ProfileText
from semcast.planning.plan import Plan
from semcast.planning.schemes import scheme_of
from semcast.protocol.streams import Stream
from semcast.trees.topology import Topology

Json = dict[str, Any]


@dataclass(frozen=True)
class Snapshot:
    """Answers of coordinator, sources and gateways. Those of brokers may be a few seconds old."""

    at: float
    """Seconds since 1970."""
    overlay: Json
    status: Json
    plan: Json
    wanted: list[Json]
    """The coordinator's subscriptions: profiles with their gateways."""
    events: list[Json] = field(default_factory=list)
    channels: dict[str, Json] = field(default_factory=dict)
    """Per broker its /channelz."""
    sessions: dict[str, list[Json]] = field(default_factory=dict)
    """Per gateway."""
    samples: dict[str, Json] = field(default_factory=dict)
    """Per source its /samplez."""

    @cached_property
    def topology(self) -> Topology:
        return Topology.from_json(msgspec.json.encode(self.overlay["topology"]))

    @cached_property
    def planned(self) -> Plan | None:
        """The plan in force; None before there is one."""
        return msgspec.convert(self.plan, Plan) if self.plan.get("channels") else None

    @cached_property
    def streams(self) -> dict[str, Stream]:
        return {name: msgspec.convert(about, Stream) for name, about in self.overlay["streams"].items()}

    @cached_property
    def profiles(self) -> dict[str, ProfileText]:
        """By the id that plans call them by."""
        return {it["id"]: ProfileText(it["stream"], it["language"], it["profile"]) for it in self.wanted}

    @property
    def routers(self) -> bool:
        """Is it a network of semantic routers, which have filters instead of channels?"""
        return not scheme_of(self.overlay["scheme"]).coordinated

    @property
    def brokers(self) -> dict[str, Json]:
        found: dict[str, Json] = self.status["brokers"]
        return found

    def having(self, role: str) -> list[str]:
        """Brokers of a role that are up."""
        return [name for name, broker in self.brokers.items() if broker["up"] and role in broker["roles"]]

    def address(self, broker: str) -> str | None:
        told = self.brokers.get(broker, {}).get("address")
        member = self.overlay["members"].get(broker)
        found: str | None = told or (member["address"] if member is not None else None)
        return found
