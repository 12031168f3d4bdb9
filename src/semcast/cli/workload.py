"""What `semcast plan` and `semcast cost` start from: a topology, profiles with gateways, and matched messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from semcast.cli import render
from semcast.cli.options import read_namespaces, read_schema
from semcast.model import SemcastError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from semcast.channels.selectivity import Floats
    from semcast.matching.matches import Matches
    from semcast.pipeline.collect import Collected
    from semcast.pipeline.records import ProfileFile, ProfileRecord
    from semcast.planning.cost import Cost
    from semcast.planning.origins import Origins
    from semcast.planning.plan import Plan
    from semcast.planning.subscriptions import Subscriptions
    from semcast.trees.topology import Topology

T = TypeVar("T")

ProfilesFile = Annotated[
    Path, typer.Option("--profiles", help="Profiles with gateways: JSON Lines, CSV or Parquet.", show_default=False)
]
MessagesFile = Annotated[
    Path,
    typer.Option("--messages", help="Sampled messages: a file or folder, as for semcast match.", show_default=False),
]
TopologyFile = Annotated[
    Path, typer.Option("--topology", help="The overlay, as semcast topology writes it.", show_default=False)
]
SourceBrokers = Annotated[
    list[str],
    typer.Option(
        "--source",
        help="The broker at which the messages enter the overlay; may be repeated. Of several, row r enters at source "
        "r modulo their number, unless --source-column tells.",
        show_default=False,
    ),
]
SourceColumnName = Annotated[
    str | None,
    typer.Option(
        "--source-column",
        help="The messages' column (a key, in JSON Lines) that names the --source of each; messages that name none "
        "are spread by row.",
        show_default=False,
    ),
]


class Profiles(NamedTuple):
    """Parsed profiles and who wants them."""

    file: ProfileFile
    subscriptions: Subscriptions

    def distinct(self) -> list[Any]:
        """One parsed profile per class, in the order of the subscriptions' numbers."""
        by_id = {record.id: record.profile for record in self.file.records}
        return [by_id[profile] for profile in self.subscriptions.distinct]


def read_topology(path: Path) -> Topology:
    """The topology in a file."""
    from semcast.trees.topology import Topology

    return _read(path, Topology.from_json)


def read_plan(path: Path) -> Plan:
    """The plan in a file."""
    from semcast.planning.plan import Plan

    return _read(path, Plan.from_json)


def _read(path: Path, parse: Callable[[bytes], T]) -> T:
    """What is wrong with a file is said with its name."""
    try:
        return parse(path.read_bytes())
    except OSError as error:
        raise SemcastError(f"{path}: cannot be read ({error.strerror})") from error
    except SemcastError as error:
        raise SemcastError(f"{path}: {error}") from error


def read_parsed(path: Path, language: str | None, schema: str | None, namespace: list[str] | None) -> ProfileFile:
    """The profiles of one language in a file."""
    from semcast.pipeline.records import read_profiles

    with render.step(f"reading profiles from {path}"):
        found = read_profiles(path, language, read_schema(schema), read_namespaces(namespace))
    for other, number in found.others.items():
        render.say(f"{number:,} profiles in {other} are left out (--language {found.language.name})")
    return found


def check_sources(sources: Sequence[str], topology: Topology) -> None:
    """Complain of sources that are not there or are named twice, before anything runs that takes long."""
    from semcast.planning.origins import Origins

    for source in sources:
        topology.node(source)
    Origins.spread(sources, 0)


def with_gateways(file: ProfileFile, topology: Topology, draw: int | None, known: Sequence[str] = ()) -> Profiles:
    """Group equal profiles and check their gateways; ``draw`` is the seed to draw missing ones with.

    Gateways that are ``known`` come first, in their order, so that they keep their bits.
    """
    from semcast.planning.subscriptions import Subscriptions

    wanted = {record.id: record.gateways for record in file.records}
    lacking = [record for record in file.records if not record.gateways]
    if lacking and draw is None:
        raise SemcastError(
            f"profile {lacking[0].id!r} names no gateway ({len(lacking):,} of {len(file.records):,} do not); "
            'add "gateway" to each, or let them be drawn with --draw-gateways'
        )
    if lacking:
        wanted |= _drawn(lacking, topology, draw or 0)
    for profile, names in wanted.items():
        for name in names:
            if name not in topology.numbers:
                raise SemcastError(f"profile {profile!r} is at gateway {name!r}, which the topology does not have")
    used = {topology.numbers[name] for names in wanted.values() for name in names}
    gateways = dict.fromkeys([*known, *topology.ids(sorted(used | set(topology.gateways)))])
    meaning = {record.id: file.language.canonical(record.profile) for record in file.records}
    return Profiles(file, Subscriptions.of(list(gateways), wanted, meaning))


def _drawn(lacking: Sequence[ProfileRecord], topology: Topology, seed: int) -> dict[str, tuple[str, ...]]:
    import numpy as np

    if not topology.gateways:
        raise SemcastError('the topology has no broker with the role "gateway" to draw from')
    drawn = np.random.default_rng(seed).choice(topology.gateways, len(lacking)).tolist()
    return {record.id: (name,) for record, name in zip(lacking, topology.ids(drawn), strict=True)}


class Sample(NamedTuple):
    """Messages, matched against the distinct profiles, and where they enter the overlay."""

    spark: SparkSession
    matches: Matches
    origins: Origins
    times: Floats | None
    """Seconds, where a column of them was asked for; messages that tell none count as the oldest."""


def matched(
    profiles: Profiles,
    messages: Path,
    schema: str | None,
    master: str | None,
    sources: Sequence[str],
    source_column: str | None,
    time_column: str | None = None,
) -> Sample:
    """Match the messages against the distinct profiles on Spark."""
    from semcast.cli.match import complain
    from semcast.pipeline.files import data_files

    data_files(messages)  # complains before Spark starts
    with render.step("starting Spark"):
        from semcast.cli.spark import session
        from semcast.pipeline.collect import SourceColumn, collect_matches
        from semcast.pipeline.messages import Source
        from semcast.pipeline.progress import watched

        spark = session(master=master)
    source = Source(spark, messages)
    distinct = profiles.distinct()
    column = SourceColumn(source_column, tuple(sources)) if source_column is not None else None
    text = f"matching {messages} against {len(distinct):,} distinct profiles"
    with render.step(text) as shown, watched(spark, shown.report):
        found = collect_matches(source, profiles.file.language, distinct, read_schema(schema), column, time_column)
    complain(found.tally)
    if not found.matches.rows:
        raise SemcastError(f"{messages}: holds no messages")
    return Sample(spark, found.matches, _origins(sources, found), _times(messages, time_column, found))


def _times(messages: Path, column: str | None, found: Collected) -> Floats | None:
    import numpy as np

    if found.times is None:
        return None
    silent = np.isnan(found.times)
    if silent.all():
        raise SemcastError(f"{messages}: no message tells its time in {column!r}, in seconds or as a timestamp")
    if silent.any():
        number, all_ = np.count_nonzero(silent), len(silent)
        render.say(f"{number:,} of {all_:,} messages tell no time and count as the oldest does")
    return np.where(silent, np.nanmin(found.times), found.times)


def _origins(sources: Sequence[str], found: Collected) -> Origins:
    import numpy as np

    from semcast.planning.origins import Origins

    spread = Origins.spread(sources, found.matches.rows)
    if found.places is None:
        return spread
    silent = int(np.count_nonzero(found.places < 0))
    if silent:
        render.say(f"{silent:,} of {found.matches.rows:,} messages name no source and are spread by row")
    return Origins.of(sources, np.where(found.places < 0, spread.place, found.places))


def counted(
    made: Plan,
    topology: Topology,
    subscriptions: Subscriptions,
    matches: Matches,
    origins: Origins,
    oracle: int,
    seed: int = 0,
) -> Cost:
    """What the plan costs on the matched messages; the oracle is asked about ``oracle`` of them."""
    import numpy as np

    from semcast.planning.cost import cost_of

    with render.step("counting what it costs") as shown:
        return cost_of(
            made,
            topology,
            subscriptions,
            matches,
            origins,
            oracle_messages=oracle,
            rng=np.random.default_rng(seed),
            done=lambda count: shown.report(count, min(oracle, matches.rows)),
        )
