"""The papers' schemes on the oracle table's workloads: planned on the sample, counted on messages held out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from semcast.channels.channelize import SCHEMES
from semcast.channels.overlap import overlap
from semcast.channels.selectivity import Selectivity
from semcast.planning.build import Request, make_plan
from semcast.planning.plan import Plan
from semcast.planning.router import Router
from semcast.planning.subscriptions import Subscriptions
from semcast.trees import evaluate
from semcast.trees.evaluate import Routed
from semcast.trees.steiner import takahashi_matsuyama
from semcast.trees.topology import Topology
from semcast.trees.tree import Tree
from semcast_experiments.workloads.demands import Drawn

_CENTRAL = "semcast-o"


class PaperCost(NamedTuple):
    """Mean transmissions per held-out message, without and with the legs, and how many channels that took."""

    plan: float
    with_leg: float
    channels: int


def paper_costs(topology: Topology, source: int, drawn: Drawn, seed: int) -> dict[str, PaperCost]:
    """Every scheme of the papers; gateways join the closest broker, which is the better of the two readings."""
    subscriptions = _subscriptions(topology, drawn)
    selectivity = Selectivity.of(drawn.sample_matches, len(subscriptions.distinct))
    name = topology.brokers[source].id
    matrix = overlap(selectivity, least=1.0)
    request = Request(topology, name, subscriptions, selectivity, seed, "broker", matrix=matrix)
    found = {}
    for scheme in SCHEMES:
        if scheme == _CENTRAL:
            continue
        plan = make_plan(scheme, request)
        carried = Router(plan, subscriptions.distinct).carried(drawn.held_out_matches)
        trees = {scheme: [plan.tree(channel, topology) for channel in plan.channels]}
        if scheme == "semcast":
            trees[_CENTRAL] = central_trees(plan, topology)
        for name, own in trees.items():
            counted = evaluate.transmissions(topology.graph, Routed(own, carried), drawn.held_out, source)
            found[name] = PaperCost(counted.mean, counted.mean_with_leg, len(plan.channels))
    return found


def central_trees(plan: Plan, topology: Topology) -> list[Tree]:
    """SemCast-O's trees for the channels of SemCast's plan: nothing else differs, so channels are found once."""
    return [
        takahashi_matsuyama(
            topology.graph, topology.node(channel.rendezvous), [topology.node(name) for name in channel.gateways]
        ).tree
        for channel in plan.channels
    ]


def _subscriptions(topology: Topology, drawn: Drawn) -> Subscriptions:
    """One profile per class with the gateways of all its clients; numbers are those of the matches."""
    names = topology.ids(topology.gateways)
    wanted: dict[str, list[str]] = {f"p{number}": [] for number in range(drawn.profiles)}
    pairs = np.unique(np.stack((drawn.held, drawn.at), axis=1), axis=0)
    for profile, gateway in pairs.tolist():
        wanted[f"p{profile}"].append(names[gateway])
    return Subscriptions.of(names, wanted, {profile: profile for profile in wanted})
