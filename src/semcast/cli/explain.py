"""`semcast explain`: what a profile says, how much it asks for, and what covers it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from semcast.cli import render
from semcast.cli.options import Json, Namespaces, SchemaText, read_namespaces, read_schema
from semcast.matching import Language
from semcast.matching import language as by_name
from semcast.matching.matchers import read
from semcast.model import Schema, SemcastError

_SHOWN = 20


def explain(
    text: Annotated[
        str, typer.Argument(metavar="TEXT", help="The profile, or with --plan a channel's id.", show_default=False)
    ],
    language: Annotated[str, typer.Option("--language", "-l", help="The profile language.")] = "relational",
    sample: Annotated[
        Path | None, typer.Option(help="Messages (a JSON Lines, CSV or Parquet file) to estimate the selectivity from.")
    ] = None,
    profiles: Annotated[
        Path | None, typer.Option(help="Other profiles: say which of them cover this one, and which it covers.")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="A plan: explain its channel of the id TEXT instead of a profile.")
    ] = None,
    schema: SchemaText = None,
    namespace: Namespaces = None,
    json: Json = False,
) -> None:
    """Show how a profile is understood: its parts, canonical text, selectivity, and what covers it.

    With --plan, show a channel: what it carries (with --profiles in the profiles' own words), to whom, and over what.
    """
    if plan is not None:
        _channel(plan, text, profiles, json)
        return
    chosen, declared = by_name(language), read_schema(schema)
    namespaces = read_namespaces(namespace, chosen)
    profile = chosen.parse(text, declared, namespaces=namespaces)
    found: dict[str, Any] = {
        "language": chosen.name,
        "text": text,
        "canonical": chosen.canonical(profile),
        "parts": chosen.parts(profile),
        "attributes": {name: sorted(kinds) for name, kinds in chosen.wanted([profile]).items()},
    }
    if sample is not None:
        found["selectivity"] = _selectivity(chosen, profile, sample, declared)
    if profiles is not None:
        found |= _relations(chosen, profile, profiles, declared, namespaces)
    if json:
        render.data(found)
    else:
        _show(found)


def _channel(path: Path, name: str, profiles: Path | None, json: bool) -> None:
    from semcast.channels import expressions
    from semcast.cli.workload import read_plan

    made = read_plan(path)
    channel = next((channel for channel in made.channels if channel.id == name), None)
    if channel is None:
        raise SemcastError(f"{path} has no channel {name!r}; it has {len(made.channels):,}, from c0 on")
    found = {
        "channel": name,
        "carries": channel.expression,
        "rate": channel.rate,
        "rendezvous": channel.rendezvous,
        "links": len(channel.tree),
        "gateways": list(channel.gateways),
        "profiles": list(channel.profiles),
    }
    expression = made.expression(channel)
    if expression is not None and profiles is not None:
        from semcast.pipeline.records import read_profiles

        file = read_profiles(profiles)
        words = {record.id: f"[{file.language.canonical(record.profile)}]" for record in file.records}
        ids = list(made.subscriptions)
        found["in_words"] = expressions.text(expression, lambda n: words.get(ids[n], ids[n]), quote=False)
    if json:
        render.data(found)
        return
    for key, value in found.items():
        shown = _some(value) if isinstance(value, list) else f"{value:.2%}" if key == "rate" else value
        title = key.replace("_", " ")
        render.stdout.print(
            f"{title:<12} {'any message, by its gateways' if shown is None else shown}", markup=False, soft_wrap=True
        )


def _some(ids: list[str]) -> str:
    more = f" … and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    return f"{len(ids):,}: {', '.join(ids[:_SHOWN])}{more}" if ids else "none"


def _selectivity(chosen: Language[Any], profile: Any, sample: Path, schema: Schema | None) -> dict[str, Any]:
    from semcast.pipeline.samples import read_sample

    batch, bad = read_sample(sample, chosen, [profile], schema)
    if not batch.num_rows:
        raise SemcastError(f"{sample}: holds no messages")
    found = read(chosen.matcher([profile]), batch)
    matched, unreadable = len(found.matches), bad + len(found.unreadable)
    return {"messages": batch.num_rows, "matched": matched, "share": matched / batch.num_rows, "unreadable": unreadable}


def _relations(
    chosen: Language[Any], profile: Any, path: Path, schema: Schema | None, namespaces: dict[str, str]
) -> dict[str, list[str]]:
    from semcast.pipeline.records import read_profiles

    others = read_profiles(path, chosen.name, schema, namespaces).records
    return {
        "covered_by": [other.id for other in others if chosen.covers(other.profile, profile)],
        "covers": [other.id for other in others if chosen.covers(profile, other.profile)],
    }


def _show(found: dict[str, Any]) -> None:
    say = render.stdout.print
    say(f"language     {found['language']}", markup=False)
    say(f"canonical    {found['canonical']}", markup=False, soft_wrap=True)
    for at, part in enumerate(found["parts"]):
        say(f"{'matches if' if at == 0 else '     or if':<12} {part}", markup=False, soft_wrap=True)
    if not found["parts"]:
        say("matches      nothing, whatever the message")
    for at, (name, kinds) in enumerate(found["attributes"].items()):
        say(f"{'attributes' if at == 0 else '':<12} {name} ({' or '.join(kinds) or 'any kind'})", markup=False)
    if "selectivity" in found:
        seen = found["selectivity"]
        say(f"selectivity  {seen['share']:.4%} ({seen['matched']:,} of {seen['messages']:,} messages)")
        if seen["unreadable"]:
            say(f"             {seen['unreadable']:,} messages of the sample could not be read")
    for key, title in (("covered_by", "covered by"), ("covers", "covers")):
        if key in found:
            ids = found[key]
            more = f" … and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
            say(f"{title:<12} {', '.join(ids[:_SHOWN]) or 'none of them'}{more}", markup=False, soft_wrap=True)
