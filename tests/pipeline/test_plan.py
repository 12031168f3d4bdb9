"""Statistics, plans and routing on a real Spark, from files and frames."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import semcast
from semcast.channels.overlap import overlap as overlap_here
from semcast.channels.selectivity import Selectivity
from semcast.cli import app
from semcast.matching.matches import Matches
from semcast.model import SemcastError
from semcast.pipeline import overlaps, route
from semcast.pipeline.collect import collect_matches
from semcast.pipeline.messages import Source
from semcast.pipeline.overlaps import overlap
from semcast.planning.build import Request, make_plan
from semcast.planning.plan import Plan, PlannedChannel
from semcast.planning.schemes import SCHEMES
from semcast.planning.subscriptions import Subscriptions
from semcast.trees.generators import generate
from semcast.trees.topology import Topology
from tests.laws.channel_worlds import matches_of
from tests.pipeline.cases import Case, written

pytestmark = pytest.mark.spark
RELATIONAL = semcast.language("relational")


@pytest.fixture(scope="module")
def topology() -> Topology:
    return generate("waxman", 40, np.random.default_rng(1), degree=4)


@pytest.mark.parametrize("most", [0, 1 << 20])
def test_the_matrix_made_on_spark_is_the_one_made_here(
    spark: SparkSession, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlaps, "_PART_MATCHES", 300)
    monkeypatch.setattr(overlaps, "_BLOCK_BYTES", 12 * 61 * 7)  # seven profiles a block at most
    rng = np.random.default_rng(2)
    matched = [set(rng.choice(60, rng.integers(0, 9), replace=False).tolist()) for _ in range(500)]
    selectivity = Selectivity(matches_of(matched), 61, rng.random(500))
    for least in (0.0, 0.3):
        found = overlap(spark, selectivity, least, most_broadcast=most)
        expected = overlap_here(selectivity, least)
        assert found.indptr.tolist() == expected.indptr.tolist()
        assert found.others.tolist() == expected.others.tolist()
        assert found.counts.tolist() == expected.counts.tolist()
        assert np.allclose(found.shares, expected.shares)


def test_matches_come_back_in_the_order_of_the_messages(spark: SparkSession, tmp_path: Path) -> None:
    rows: list[object] = [{"x": n % 7, "pad": "y" * 900} for n in range(20_000)]  # more than one split
    rows[5] = "not JSON"
    source = Source(spark, written(tmp_path / "m.jsonl", rows))
    assert len(source.splits()) > 1
    profiles = [RELATIONAL.parse("x > 4"), RELATIONAL.parse("x = 0 OR x IS NULL")]
    found, tally, _, _ = collect_matches(source, RELATIONAL, profiles, None)
    expected = [([0] if n % 7 > 4 else [1] if n % 7 == 0 else []) if n != 5 else [] for n in range(20_000)]
    assert [found.of(row).tolist() for row in range(found.rows)] == expected
    assert (tally.messages, tally.bad, tally.pairs) == (20_000, 1, sum(map(len, expected)))


def test_no_messages_give_no_matches(spark: SparkSession, tmp_path: Path) -> None:
    source = Source(spark, written(tmp_path / "m.jsonl", []))
    found, tally, _, _ = collect_matches(source, RELATIONAL, [RELATIONAL.parse("x > 4")], None)
    assert (found.rows, tally.messages) == (0, 0)


@pytest.mark.parametrize("scheme", ["semcast", "unicast", "spt"])
def test_frames_are_routed_as_the_plan_says(spark: SparkSession, topology: Topology, scheme: str) -> None:
    texts = {f"p{n}": f"x >= {n % 4} AND x < {n % 4 + 2}" for n in range(8)}
    names = topology.ids(topology.gateways)
    wanted = {profile: [names[n % len(names)]] for n, profile in enumerate(texts)}
    meaning = {profile: RELATIONAL.canonical(RELATIONAL.parse(text)) for profile, text in texts.items()}
    subscriptions = Subscriptions.of(names, wanted, meaning)
    assert len(subscriptions.distinct) == 4
    matcher = RELATIONAL.matcher([RELATIONAL.parse(texts[profile]) for profile in subscriptions.distinct])
    sample = pa.table({"x": [float(n % 6) for n in range(60)]})
    selectivity = Selectivity.of(matcher.match(sample), 4)
    plan = make_plan(scheme, Request(topology, names[0], subscriptions, selectivity))
    frame = spark.createDataFrame([(float(n),) for n in range(-1, 7)], "x double")
    rows = {row["x"]: row["channels"] for row in route(frame, plan, texts).collect()}
    channels = {channel.id: channel for channel in plan.channels}
    for x, ids in rows.items():
        reached = {gateway for name in ids for gateway in channels[name].gateways}
        interested = {wanted[p][0] for n, p in enumerate(texts) if n % 4 <= x < n % 4 + 2}
        assert interested <= reached
        assert bool(ids) == bool(interested)
    with pytest.raises(SemcastError, match="'p7', which is not among"):
        route(frame, plan, {profile: text for profile, text in texts.items() if profile != "p7"})
    with pytest.raises(SemcastError, match="already has a column 'x'"):
        route(frame, plan, texts, column="x")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_a_plan_says_of_its_cost_is_what_anyone_counts(
    spark: SparkSession, topology: Topology, tmp_path: Path, scheme: str
) -> None:
    case = Case(tmp_path, topology)
    every = ["--oracle", "300"]  # of a part of the messages only an estimate would be known
    out, _ = case.run("plan", "--scheme", scheme, "--out", "plan.json", "--json", *every)
    assert json.loads(out)["scheme"] == scheme
    plan = Plan.from_json((tmp_path / "plan.json").read_text())
    assert plan.subscriptions.keys() == {f"p{n}" for n in range(50)}
    counted = json.loads(case.run("cost", "--plan", "plan.json", "--json", *every)[0])
    assert counted == plan.cost
    assert counted["missed"] == 0
    assert counted["messages"] == 300
    assert counted["plan"] == pytest.approx(_counted_by_hand(case, plan))
    assert counted["oracle_bound"] <= counted["oracle"] <= counted["plan_with_leg"] + 1e-9


def _counted_by_hand(case: Case, plan: Plan) -> float:
    """Links that every message uses, message by message, in plain Python.

    Those of the trees of every channel whose expression holds; without expressions, the links that lead to
    gateways that want the message, on the channel where these are fewest.
    """
    total = 0
    messages = [json.loads(line)["x"] for line in (case.folder / "m.jsonl").read_text().splitlines()]
    for x in messages:
        held = {}
        for profile in case.profiles:
            low, high = (int(part.split()[-1]) for part in str(profile["text"]).split(" AND "))
            held[str(profile["id"])] = low <= x < high
        if plan.kind.filtered:
            wanted = {gateway for profile, holds in held.items() if holds for gateway in plan.subscriptions[profile]}
            total += min(_links_to(wanted, channel) for channel in plan.channels)
            continue
        for channel in plan.channels:
            assert channel.expression is not None
            written = channel.expression.replace("|", " or ").replace("&", " and ").replace("!", " not ")
            total += len(channel.tree) if eval(written, {"__builtins__": {}}, held) else 0
    return total / len(messages)


def _links_to(wanted: set[str], channel: PlannedChannel) -> int:
    above = {child: parent for parent, child in channel.tree}
    used = set()
    for broker in wanted:
        while broker != channel.rendezvous:
            used.add(broker)
            broker = above[broker]
    return len(used)


def test_a_channel_is_explained_in_the_words_of_its_profiles(
    spark: SparkSession, topology: Topology, tmp_path: Path
) -> None:
    case = Case(tmp_path, topology)
    picture = tmp_path / "plan.svg"
    _, told = case.run("plan", "--scheme", "semcast", "--out", "plan.json", "--draw", str(picture))
    assert told.splitlines()[-1].endswith(f"plan.json, {picture}")
    assert "semcast: 6 of" in picture.read_text()
    words = ["--plan", str(tmp_path / "plan.json"), "--profiles", str(tmp_path / "p.jsonl"), "--json"]
    found = json.loads(CliRunner().invoke(app, ["explain", "c0", *words]).stdout)
    channel = Plan.from_json((tmp_path / "plan.json").read_text()).channels[0]
    assert (found["carries"], found["links"]) == (channel.expression, len(channel.tree))
    assert "[x >= " in found["in_words"]
    assert "has no channel 'c999'" in str(CliRunner().invoke(app, ["explain", "c999", *words]).exception)


def test_gateways_that_are_missing_or_unknown_are_named(
    spark: SparkSession, topology: Topology, tmp_path: Path
) -> None:
    case = Case(tmp_path, topology, gateways=False)
    assert "'p0' names no gateway (50 of 50 do not)" in case.run("plan", "--out", "plan.json", code=1)[1]
    case.run("plan", "--out", "plan.json", "--draw-gateways", "--scheme", "spt")
    assert all(len(held) == 1 for held in Plan.from_json((tmp_path / "plan.json").read_text()).subscriptions.values())
    written(tmp_path / "p.jsonl", [{"id": "p", "language": "relational", "text": "x > 1", "gateway": "nowhere"}])
    assert "'p' is at gateway 'nowhere'" in case.run("plan", "--out", "plan.json", code=1)[1]
    assert "serves profile 'p0', which is not in" in case.run("cost", "--plan", "plan.json", code=1)[1]


def test_wrong_words_are_refused_before_anything_runs(topology: Topology, tmp_path: Path) -> None:
    case = Case(tmp_path, topology)
    assert "no scheme 'fast'" in case.run("plan", "--scheme", "fast", "--out", "plan.json", code=1)[1]
    assert "no such folder" in case.run("plan", "--out", "nowhere/plan.json", code=1)[1]
    written(tmp_path / "broken.json", ["{}"])
    assert "not a plan" in case.run("cost", "--plan", "broken.json", code=1)[1]
    case.source = "b999"
    assert "there is no broker 'b999'" in case.run("plan", "--out", "plan.json", code=1)[1]


def test_matches_without_some_rows_keep_the_others() -> None:
    matches = matches_of([{0, 1}, {2}, set(), {1}])
    left = matches.without([0, 2])
    assert [left.of(row).tolist() for row in range(4)] == [[], [2], [], [1]]
    assert isinstance(left, Matches)
