"""`semcast cost`: what a plan costs on a set of messages, counted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semcast.cli import render
from semcast.cli.options import Json, LanguageName, Master, Namespaces, SchemaText
from semcast.cli.render_plan import show_cost
from semcast.cli.workload import (
    MessagesFile,
    Profiles,
    ProfilesFile,
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


def cost(
    plan: Annotated[Path, typer.Option(help="The plan, as semcast plan writes it.", show_default=False)],
    profiles: ProfilesFile,
    messages: MessagesFile,
    topology: TopologyFile,
    source: SourceBrokers,
    oracle: Annotated[int, typer.Option(help="Messages to find a tree of their own for, as a yardstick.")] = 100,
    seed: Annotated[int, typer.Option(help="Which messages the oracle looks at.")] = 0,
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
    from semcast.planning import Subscriptions

    overlay = read_topology(topology)
    check_sources(source, overlay)
    made = read_plan(plan)
    for channel in made.channels:
        made.tree(channel, overlay)  # complains before Spark starts
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
    if json:
        render.data(found.as_dict())
    else:
        show_cost(found)
    missed = f"; {found.missed:,} DELIVERIES ARE MISSED" if found.missed else ""
    render.say(
        f"{made.scheme}: {found.plan_with_leg:.2f} transmissions per message over {found.messages:,} messages, "
        f"stretch {found.stretch:.2f}{missed}"
    )
