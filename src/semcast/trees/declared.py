"""An overlay as a file declares it: drawn or given, with its roles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Literal

import msgspec
import numpy as np

from semcast.model import SemcastError
from semcast.model.tables import Part, TableError
from semcast.trees.generators import generate
from semcast.trees.roles import SOURCE
from semcast.trees.topology import GATEWAY, Topology


class Overlay(Part, frozen=True, kw_only=True):
    """The overlay: drawn, or a topology file (whose text is carried along once it is read)."""

    kind: Literal["random", "waxman", "transit-stub", "power-law"] = "random"
    brokers: int = 8
    degree: float | None = None
    seed: int = 1
    file: str | None = None
    json: str | None = None
    sources: int | tuple[str, ...] | None = None
    """Which brokers, or how many of them; None: as the file has it, else one."""
    gateways: int | tuple[str, ...] | None = None
    """None: as the file has it, else half of them."""


def topology_file(given: Mapping[str, Any]) -> PurePath | None:
    """The file that tables name as their topology, to be read and put in by ``with_topology``."""
    overlay = given.get("topology")
    if not isinstance(overlay, dict) or not isinstance(overlay.get("file"), str):
        return None
    for key in ("kind", "brokers", "degree", "seed"):
        if key in overlay:
            raise TableError(f"topology.{key}", "not beside topology.file, which says it all")
    return PurePath(overlay["file"])


def with_topology(given: Mapping[str, Any], text: bytes) -> dict[str, Any]:
    """The tables with the text of the topology file in them."""
    try:
        checked = Topology.from_json(text).to_json()
    except SemcastError as error:
        raise TableError("topology.file", str(error)) from None
    return {**given, "topology": {**given["topology"], "json": checked}}


def topology_of(overlay: Overlay) -> Topology:
    """The declared topology; roles that it does not name stay as the file has them, else they are drawn."""
    shape, roles = np.random.default_rng(overlay.seed).spawn(2)
    if overlay.json is not None:
        made = Topology.from_json(overlay.json)
    else:
        made = generate(overlay.kind, overlay.brokers, shape, degree=overlay.degree)
        made = _given(made, GATEWAY, ())
    brokers = len(made.brokers)
    by_source, by_gateway = roles.spawn(2)
    made = _with(made, SOURCE, overlay.sources, 1, by_source)
    return _with(made, GATEWAY, overlay.gateways, max(1, brokers // 2), by_gateway)


def having(topology: Topology, role: str) -> list[str]:
    """The brokers of a role, in natural order."""
    return [broker.id for broker in topology.brokers if role in broker.roles]


def _with(
    topology: Topology, role: str, wanted: int | tuple[str, ...] | None, default: int, rng: np.random.Generator
) -> Topology:
    key = f"topology.{role}s"
    if isinstance(wanted, tuple):
        for broker in wanted:
            if broker not in topology.numbers:
                raise TableError(key, f"there is no broker {broker!r}")
        chosen: tuple[str, ...] = wanted
    elif wanted is None and having(topology, role):
        return topology
    else:
        count = default if wanted is None else wanted
        if not 1 <= count <= len(topology.brokers):
            raise TableError(key, f"{count} of {len(topology.brokers)} brokers cannot be chosen")
        chosen = tuple(topology.ids(rng.permutation(len(topology.brokers))[:count].tolist()))
    if not chosen:
        raise TableError(key, "at least one is needed")
    return _given(topology, role, chosen)


def _given(topology: Topology, role: str, chosen: tuple[str, ...]) -> Topology:
    brokers = []
    for broker in topology.brokers:
        kept = tuple(other for other in broker.roles if other != role)
        brokers.append(msgspec.structs.replace(broker, roles=(*kept, role) if broker.id in chosen else kept))
    return Topology(tuple(brokers), topology.links)
