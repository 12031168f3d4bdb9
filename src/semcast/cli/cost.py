"""`semcast cost`: what a plan costs on a set of messages, counted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semcast.cli import render
from semcast.cli.options import Json, LanguageName, Master, Namespaces, SchemaText
from semcast.cli.render_plan import show_cost, show_levels
from semcast.cli.workload import (
    MessagesFile,
    Profiles,
    ProfilesFile,
    Sample,
    SourceBrokers,
    SourceColumnName,
    TopologyFile,
    check_sources,
    counted,
    matched,
    read_parsed,
    read_plan,
    read_topology,
)
from semcast.model import SemcastError

if TYPE_CHECKING:
    from semcast.planning.cost import TwoLevels
    from semcast.planning.plan import Plan
    from semcast.planning.subscriptions import Subscriptions
    from semcast.trees.topology import Topology


def cost(
    plan: Annotated[Path, typer.Option(help="The plan, as semcast plan writes it.", show_default=False)],
    profiles: ProfilesFile,
    messages: MessagesFile,
    topology: TopologyFile,
    source: SourceBrokers,
    oracle: Annotated[int, typer.Option(help="Messages to find a tree of their own for, as a yardstick.")] = 100,
    seed: Annotated[int, typer.Option(help="Which messages the oracle looks at.")] = 0,
    two_levels: Annotated[
        bool,
        typer.Option(
            "--two-levels",
            help="Count a masked plan with masks of two levels too: region bits outside a region, gateway bits inside.",
        ),
    ] = False,
    source_column: SourceColumnName = None,
    language: LanguageName = None,
    schema: SchemaText = None,
    namespace: Namespaces = None,
    master: Master = None,
    json: Json = False,
) -> None:
    """Count the link transmissions of a plan, message by message, beside what others would need.

    Means per message, every transmission counts 1. With the legs means: with the way from the source to the rendezvous
    points of a message's channels, one copy per rendezvous point.
    """
    from semcast.planning.subscriptions import Subscriptions

    overlay = read_topology(topology)
    check_sources(source, overlay)
    made = read_plan(plan)
    if two_levels and made.scheme != "masked":
        raise SemcastError(f"--two-levels: {plan} is a plan of {made.scheme!r}, which has no masks")
    made.check_links(overlay)  # complains before Spark starts
    file = read_parsed(profiles, language, schema, namespace)
    known = {record.id for record in file.records}
    for profile in made.subscriptions:
        if profile not in known:
            raise SemcastError(f"{plan} serves profile {profile!r}, which is not in {profiles}")
    unserved = known - made.subscriptions.keys()
    if unserved:
        render.say(f"{len(unserved):,} profiles of {profiles} are not in the plan and are left out")
    meaning = {profile: made.same_as.get(profile, profile) for profile in made.subscriptions}
    subscriptions = Subscriptions.of(made.gateways, made.subscriptions, meaning)
    sample = matched(Profiles(file, subscriptions), messages, schema, master, source, source_column)
    found = counted(made, overlay, subscriptions, sample.matches, sample.origins, oracle, seed)
    levels = _two_levels(made, overlay, subscriptions, sample) if two_levels else None
    if json:
        render.data(found.as_dict() | ({} if levels is None else {"two_levels": levels._asdict()}))
    else:
        show_cost(found)
        if levels is not None:
            show_levels(found, levels)
    missed = f"; {found.missed:,} DELIVERIES ARE MISSED" if found.missed else ""
    render.say(
        f"{made.scheme}: {found.plan_with_leg:.2f} transmissions per message over {found.messages:,} messages, "
        f"stretch {found.stretch:.2f}{missed}"
    )


def _two_levels(made: Plan, overlay: Topology, subscriptions: Subscriptions, sample: Sample) -> TwoLevels:
    from semcast.planning.cost import two_levels_of

    with render.step("counting masks of two levels"):
        return two_levels_of(made, overlay, subscriptions, sample.matches, sample.origins)
