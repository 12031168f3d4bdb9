"""Small scenarios drawn from a seed: many short runs find what one long run does not."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from semcast.protocol.commits import LONGEST_PAUSE_S
from semcast.sim.scenario import (
    CHANNEL_SCHEMES,
    Campaign,
    Clients,
    Coordinators,
    Production,
    Publishers,
    Scenario,
    Stream,
)
from semcast.sim.semnet import simulation_of
from semcast.sim.witness import Violation
from semcast.trees.declared import Overlay

_CALM = 0.15
"""The share of scenarios in which nothing fails."""
_PRODUCTION = 0.6
"""The share of scenarios in which brokers are run as in production."""
_DEFAULT = 0.45
"""Scenarios that are given the default scheme, whatever they had drawn."""
STILL_S = 3.0
"""Nothing left to do for longer than any timer of the protocol runs but for expiry: nothing more will happen."""


@dataclass(frozen=True)
class Outcome:
    """What is kept of a run among many."""

    seed: int
    scheme: str
    violations: tuple[Violation, ...]
    counts: dict[str, int]


def random_scenario(seed: int) -> Scenario:
    """4 to 9 brokers, 1 or 2 sources, 2 to 4 gateways, any scheme, any mixture of faults."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0x5EED]))
    brokers = int(rng.integers(4, 10))
    duration_s = float(rng.integers(5, 9))
    relational = bool(rng.random() < 0.1)
    stream = Stream(name="s", language="relational" if relational else "topic", values=int(rng.integers(2, 5)))
    scenario = Scenario(
        name=f"random {seed}",
        duration_s=duration_s,
        quiet_s=10.0,
        scheme=CHANNEL_SCHEMES[int(rng.integers(len(CHANNEL_SCHEMES)))],
        channels=int(rng.integers(1, 6)),
        topology=Overlay(
            brokers=brokers,
            degree=round(float(rng.uniform(2.0, 3.0)), 2),
            seed=int(rng.integers(1 << 30)),
            sources=int(rng.integers(1, 3)),
            gateways=int(rng.integers(2, 5)),
        ),
        coordinators=Coordinators(count=int(rng.integers(1, 3))),
        streams=(stream,),
        clients=(_clients(rng, duration_s),),
        publishers=(Publishers(stream="s", rate_hz=float(rng.uniform(3, 12)), batch=int(rng.integers(1, 4))),),
        reorganise_s=tuple(sorted(round(float(at), 3) for at in rng.uniform(1, duration_s, int(rng.integers(0, 3))))),
        campaign=_campaign(rng),
    )
    scenario = _as_in_production(_by_default(scenario, seed), seed)
    if scenario.campaign is None:
        return scenario
    # Each draws from a stream of its own, in this order: what comes last shifts nothing that was drawn before it.
    plan_ms, settings, store_ms, store_slow = _plan_ms(rng), _settings(rng), _store_ms(rng), _store_slow(rng)
    coordinators = msgspec.structs.replace(scenario.coordinators, plan_ms=plan_ms, store_ms=store_ms)
    # What was asked for while a plan was made is in the next one, and who came back meanwhile in the one after that.
    quiet_s = scenario.quiet_s + 3 * plan_ms[1] / 1000
    if scenario.production is not None:
        quiet_s += LONGEST_PAUSE_S  # a broker that could not write tries again so long after the disk is well
    return msgspec.structs.replace(
        scenario,
        coordinators=coordinators,
        quiet_s=quiet_s,
        settings=settings,
        campaign=msgspec.structs.replace(scenario.campaign, store_slow=store_slow),
    )


def _store_ms(rng: np.random.Generator) -> tuple[float, float]:
    (own,) = rng.spawn(1)
    return 0.5, float(own.choice([5.0, 50.0, 400.0]))


def _store_slow(rng: np.random.Generator) -> float:
    (own,) = rng.spawn(1)
    return round(float(own.uniform(0, 25)), 2) if own.random() < 0.5 else 0.0


def _by_default(scenario: Scenario, seed: int) -> Scenario:
    """The scheme that most overlays have is that of half of the scenarios; what else is drawn stays the same."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0xDEFA]))
    return msgspec.structs.replace(scenario, scheme="masked") if rng.random() < _DEFAULT else scenario


def _as_in_production(scenario: Scenario, seed: int) -> Scenario:
    """Most scenarios run brokers as production does; what else is drawn stays the same."""
    rng = np.random.default_rng(np.random.SeedSequence([seed, 0xD15C]))
    if rng.random() >= _PRODUCTION:
        return scenario
    campaign = scenario.campaign
    if campaign is not None and rng.random() < 0.5:
        campaign = msgspec.structs.replace(campaign, disk=round(float(rng.uniform(0, 25)), 2))
    near = float(rng.choice([0.0, 0.3, 0.8]))
    production = Production(segmented=int(rng.choice([1, 600, 1 << 18])), near=near)
    return msgspec.structs.replace(scenario, campaign=campaign, production=production)


def _plan_ms(rng: np.random.Generator) -> tuple[float, float]:
    """Some plans take longer than leads and leases last; then gateways without trees ask sources, as is right."""
    (own,) = rng.spawn(1)
    return 1.0, float(own.choice([20.0, 500.0, 5000.0]))


def _settings(rng: np.random.Generator) -> dict[str, float]:
    """Most logs are trimmed at once, which shows sooner who still needed them."""
    (own,) = rng.spawn(1)
    found = {"retain_s": 3.0} if own.random() < 0.25 else {}
    if own.random() < 0.4:  # so few that sources are sent the whole roster, in pieces, and gateways take many turns
        found |= {"roster_log": int(own.integers(1, 5)), "roster_frame": int(own.integers(1, 4)), "admitted": 1}
    return found


def _clients(rng: np.random.Generator, duration_s: float) -> Clients:
    return Clients(
        stream="s",
        count=int(rng.integers(3, 10)),
        gateways_each=int(rng.integers(1, 3)),
        ordered=float(rng.choice([0.0, 0.5, 1.0])),
        durable=float(rng.choice([0.0, 0.5, 1.0])),
        start="earliest" if rng.random() < 0.2 else "latest",
        attach_s=(0.0, duration_s * 0.6),
        replaced=0.3,
        detached=0.2,
    )


def _campaign(rng: np.random.Generator) -> Campaign | None:
    """Each kind of fault is in about half of the campaigns: kinds that hide each other's bugs get apart."""
    if rng.random() < _CALM:
        return None
    rates = np.where(rng.random(9) < 0.5, rng.uniform(0, 25, 9), 0.0).round(2).tolist()
    crash, pause, slow, skew, store_cut, loss, twice, jitter, partition = rates
    return Campaign(
        crash=crash,
        pause=pause,
        slow=slow,
        skew=skew,
        store_cut=store_cut,
        loss=loss,
        twice=twice,
        jitter=jitter,
        partition=partition,
        longest_s=4.0,
        clients=bool(rng.random() < 0.3),
    )


def outcome(seed: int, scenario: Scenario | None = None) -> Outcome:
    """Run the scenario with this seed, or the one that the seed itself draws."""
    chosen = scenario if scenario is not None else random_scenario(seed)
    report = simulation_of(chosen, seed).run(still_s=STILL_S)
    return Outcome(seed, chosen.scheme, tuple(report.violations), report.counts)
