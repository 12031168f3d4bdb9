"""One trial: an overlay, clients and messages drawn from a seed, and what every scheme asked for costs on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from semcast.channels.channelize import Settings
from semcast.channels.overlap import Overlap, overlap
from semcast.model import SemcastError
from semcast.planning.build import Request, make_plan
from semcast.planning.masks import interested
from semcast.planning.origins import Origins
from semcast.planning.plan import Plan
from semcast.planning.router import Router
from semcast.trees import evaluate
from semcast.trees.evaluate import Routed
from semcast.trees.joins import Closest
from semcast.trees.oracle import Oracle
from semcast.trees.steiner import QUICK, shortest_path_tree
from semcast_experiments.figures.dissemination.population import Population, overlay, populated
from semcast_experiments.figures.dissemination.profiles import Alike, Arcs, Disjoint, Independent, Profiles, Rng

NOISE_MERGES = 100
"""How often noise channels are merged at most: every merge of merged ones doubles their expressions, without an end."""


class Case(NamedTuple):
    """What is drawn, and which schemes are counted on it."""

    kind: str
    degree: float
    brokers: int
    clients: int
    distinct: int
    model: str
    """``disjoint``, ``independent``, ``arcs``, ``nested-`` and a probability, or ``groups-`` and their number."""
    probability: float
    """That a profile matches a message; for groups, that one of the message's group does. Disjoint: of no meaning."""
    seed: int
    schemes: tuple[str, ...]
    """As ``semcast plan`` knows them, with a choice behind a slash where there is one: see ``planned``."""
    sample: int = 2_000
    counted: int = 1_000
    sources: int = 8
    gateways: float = 0.2
    looked_at: int = 100
    """Messages for which the oracle is asked."""


def disjoint(
    network: tuple[str, float],
    brokers: int,
    clients: int,
    count: int,
    seed: int,
    schemes: tuple[str, ...],
    sources: int,
) -> Case:
    """A case of disjoint profiles, with a message for each of them: what is counted is the expectation."""
    drawn = Case(*network, brokers, clients, count, "disjoint", 0.0, seed, schemes)
    return drawn._replace(sample=count, counted=count, sources=sources)


class Cost(NamedTuple):
    """One scheme on one case: mean link transmissions per message, and what they take."""

    kind: str
    degree: float
    brokers: int
    clients: int
    distinct: int
    model: str
    probability: float
    sources: int
    seed: int
    overlap: float
    """Aggregated profile overlap."""
    wanted: float
    """Gateways that want a message, mean."""
    scheme: str
    cost: float
    """Over trees alone."""
    with_leg: float
    """From the source: with the legs to the rendezvous points."""
    channels: int
    depth: float
    """Hops of a delivery below the root of its tree, mean."""
    missed: float
    """Share of deliveries that are not made: 0 for all but the printed merge."""


def measure(case: Case) -> list[Cost]:
    """Draw, plan on the sample, count on other messages; a function of the case alone."""
    people = drawn(case)
    return list(_costs(case, people))


def drawn(case: Case) -> Population:
    """The same overlay for one seed, size and degree, whatever the profiles; the same clients for one D."""
    topology = overlay(
        case.kind,
        case.brokers,
        case.degree,
        np.random.default_rng([case.seed, case.brokers, round(10 * case.degree)]),
        sources=case.sources,
        gateways=case.gateways,
    )
    rng = np.random.default_rng([case.seed, case.distinct, case.clients])
    profiles = _profiles(case, rng)
    return populated(topology, profiles, case.clients, rng, sample=case.sample, counted=case.counted)


def _profiles(case: Case, rng: Rng) -> Profiles:
    name, _, value = case.model.partition("-")
    match name:
        case "disjoint":
            return Disjoint(case.distinct)
        case "independent":
            return Independent(case.distinct, case.probability)
        case "arcs":
            return Arcs(case.distinct, case.probability, rng)
        case "nested":
            return Arcs(case.distinct, case.probability, rng, nested=float(value))
        case "groups":
            return Alike(case.distinct, int(value), case.probability)
    raise SemcastError(f"there is no model of profiles {case.model!r}")


def _costs(case: Case, people: Population) -> Iterator[Cost]:
    demand = people.demand
    size = float(interested(demand).mean())
    shared = people.aggregated_overlap
    matrix: Overlap | None = None
    for scheme in case.schemes:
        if scheme == "bound":
            continue
        if scheme == "oracle":
            found, bound = _oracle(people, case)
            yield _row(case, shared, size, "oracle", found, found, 0, 0.0, 0.0)
            yield _row(case, shared, size, "bound", bound, bound, 0, 0.0, 0.0)
            continue
        if scheme.startswith("semcast") and matrix is None:
            matrix = overlap(people.sample, least=1.0)
        plan = planned(scheme, people, case.seed, matrix)
        yield _row(case, shared, size, scheme, *counted(plan, people))


def _row(
    case: Case,
    shared: float,
    size: float,
    scheme: str,
    cost: float,
    leg: float,
    channels: int,
    depth: float,
    lost: float,
) -> Cost:
    given = (case.kind, case.degree, case.brokers, case.clients, case.distinct, case.model, case.probability)
    return Cost(*given, case.sources, case.seed, shared, size, scheme, cost, leg, channels, depth, lost)


def planned(scheme: str, people: Population, seed: int, matrix: Overlap | None = None) -> Plan:
    """A plan of a scheme, or of one with a choice.

    ``semcast/destination``: how gateways join (the closest broker unless told); ``semcast/cap``: the merge as printed;
    ``semcast/few``: with as few merges as noise channels have; ``semcast-threshold/0.4``: both of 2004's conditions,
    ``semcast-threshold/0.4/alone``: the threshold alone; ``masked/16``: channels at most.
    """
    name, _, choice = scheme.partition("/")
    choice, _, alone = choice.partition("/")
    closest: Closest = "destination" if choice == "destination" else "broker"
    settings = Settings(
        max_merges=NOISE_MERGES if name == "semcast-noisemerge" or choice == "few" else Settings.max_merges,
        threshold=float(choice) if name == "semcast-threshold" and choice else None,
        max_noise=1.0 if alone else Settings.max_noise,
        literal_cap=choice == "cap",
    )
    request = Request(
        people.topology,
        people.sources[0],
        people.subscriptions,
        people.sample,
        seed,
        closest,
        settings,
        matrix=matrix,
        channels=int(choice) if name == "masked" and choice else 16,
        origins=Origins.spread(people.sources, people.sample.messages),
    )
    return make_plan(name, request)


def counted(plan: Plan, people: Population) -> tuple[float, float, int, float, float]:
    """Cost, cost with legs, channels, depth and the share of deliveries missed, as ``semcast cost`` counts them.

    Every message is counted from every source, so that no luck of one source's place is left in the mean.
    """
    demand, graph = people.demand, people.topology.graph
    trees = [plan.tree(channel, people.topology) for channel in plan.channels]
    by_source = plan.scheme == "masked" or any(channel.source for channel in plan.channels)
    on_trees = 0.0
    routed: Routed | None = None
    sums = np.zeros(2)
    for source in people.sources:
        node = people.topology.node(source)
        if routed is None or by_source:
            router = Router(plan, people.subscriptions.distinct, source, people.topology)
            routed = Routed(trees, router.carried(people.counted), plan.kind.filtered)
            found = evaluate.transmissions(graph, routed, demand, node)
            on_trees, with_leg = found.mean, found.mean_with_leg
        else:
            with_leg = on_trees + evaluate.legs(graph, routed, demand, node)
        # A copy's way from its source is all that unicast has: with several sources, plans have it as a leg.
        sums += with_leg if plan.scheme == "unicast" else on_trees, with_leg
    assert routed is not None
    delivered = evaluate.delivery(graph, routed, demand, people.topology.node(source))
    missed = delivered.missed / max(1, int(interested(demand).sum()))
    return *(sums / len(people.sources)).tolist(), len(trees), delivered.depth, missed


def _oracle(people: Population, case: Case) -> tuple[float, float]:
    """A tree per message and the bound below it, for some messages, scaled to all by what shortest paths cost."""
    graph, demand = people.topology.graph, people.demand
    sums = np.zeros(2)
    each = max(1, case.looked_at // len(people.sources))
    for number, source in enumerate(people.sources):
        node = people.topology.node(source)
        tree = shortest_path_tree(graph, node, demand.gateways.tolist()).tree
        paths = evaluate.pruned(graph, tree, demand).on_trees
        asked = Oracle(graph, node, QUICK).costs(demand, each, np.random.default_rng([case.seed, number]))
        scale = paths.mean() / (paths[asked.messages].mean() or 1.0)
        sums += scale * asked.found.mean(), scale * asked.bound.mean()
    found, bound = (sums / len(people.sources)).tolist()
    return found, bound
