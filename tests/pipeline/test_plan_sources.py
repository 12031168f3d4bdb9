"""Plans of several sources, and plans made from plans, by the commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

import semcast
from semcast.pipeline import route
from semcast.planning.plan import Plan
from semcast.trees.generators import generate
from semcast.trees.topology import Topology
from tests.pipeline.cases import Case, written

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def topology() -> Topology:
    return generate("waxman", 40, np.random.default_rng(1), degree=4)


class Sources(Case):
    """Messages that say where they come from, but every tenth."""

    def __init__(self, folder: Path, topology: Topology) -> None:
        super().__init__(folder, topology)
        rng = np.random.default_rng(9)
        self.sources = [topology.brokers[0].id, topology.brokers[20].id, topology.brokers[39].id]
        self.xs = rng.integers(0, 25, 300).tolist()
        self.named = [None if row % 10 == 9 else self.sources[rng.integers(3)] for row in range(300)]
        rows = [{"x": x} | ({"from": name} if name else {}) for x, name in zip(self.xs, self.named, strict=True)]
        written(folder / "m.jsonl", list(rows))

    @property
    def words(self) -> list[str]:
        return [word for source in self.sources for word in ("--source", source)]

    def cost(self, plan: str, *words: str) -> dict[str, float]:
        found: dict[str, float] = json.loads(self.run("cost", "--plan", plan, "--json", "--oracle", "300", *words)[0])
        return found


@pytest.mark.parametrize("scheme", ["masked", "spt", "unicast", "semcast"])
def test_messages_enter_where_they_say(
    spark: SparkSession,
    topology: Topology,
    tmp_path: Path,
    scheme: str,
) -> None:
    case = Sources(tmp_path, topology)
    words = [*case.words, "--source-column", "from", "--oracle", "300"]
    told = case.run("plan", "--scheme", scheme, "--out", "plan.json", *words)[1]
    assert "30 of 300 messages name no source and are spread by row" in told
    plan = Plan.from_json((tmp_path / "plan.json").read_text())
    assert plan.sources == tuple(case.sources)
    assert plan.cost == case.cost("plan.json", *case.words, "--source-column", "from")
    assert plan.cost["missed"] == 0
    entered = [name or case.sources[row % 3] for row, name in enumerate(case.named)]
    total = 0.0
    for source in case.sources:
        held = [x for x, name in zip(case.xs, entered, strict=True) if name == source]
        written(tmp_path / "part.jsonl", [{"x": x} for x in held])
        alone = case.cost("plan.json", "--messages", "part.jsonl", "--source", source)
        total += alone["plan_with_leg"] * len(held)
    assert plan.cost["plan_with_leg"] == pytest.approx(total / 300)


def test_columns_of_tables_name_sources_too_and_rows_spread_messages(
    spark: SparkSession,
    topology: Topology,
    tmp_path: Path,
) -> None:
    case = Sources(tmp_path, topology)
    case.run("plan", "--scheme", "spt", "--out", "plan.json", *case.words)
    named = [name or case.sources[row % 3] for row, name in enumerate(case.named)]
    pa.parquet.write_table(pa.table({"x": case.xs, "from": named}), tmp_path / "m.parquet")
    lines = ["x,from", *(f"{x},{name or ''}" for x, name in zip(case.xs, case.named, strict=True))]
    (tmp_path / "m.csv").write_text("\n".join(lines) + "\n")
    found = [
        case.cost("plan.json", "--messages", str(tmp_path / name), *case.words, "--source-column", "from")["spt"]
        for name in ("m.jsonl", "m.parquet", "m.csv")
    ]
    assert found[0] == pytest.approx(found[1]) == pytest.approx(found[2])
    by_row = case.cost("plan.json", *case.words)["spt"]
    parts = [_only(case, tmp_path, place) for place in range(3)]
    assert by_row == pytest.approx(sum(parts) / 3)
    assert by_row != pytest.approx(found[0])


def _only(case: Sources, folder: Path, place: int) -> float:
    written(folder / "part.jsonl", [{"x": x} for x in case.xs[place::3]])
    return case.cost("plan.json", "--messages", "part.jsonl", "--source", case.sources[place])["spt"]


def test_sources_that_cannot_be_are_named_in_a_line(
    spark: SparkSession,
    topology: Topology,
    tmp_path: Path,
) -> None:
    case = Sources(tmp_path, topology)
    one = case.sources[0]
    wrong = [
        (["--source", one, "--source-column", "from"], "which is no source; given: 'b0'"),
        ([*case.words, "--source-column", "form"], "no message names its source in 'form'"),
        (["--source", one, "--source", one], "'b0' is named twice"),
        (["--source", one, "--source", "b999"], "there is no broker 'b999'"),
        (["--source", one, "--least-gain", "0.1"], "name it with --from"),
    ]
    for words, text in wrong:
        assert text in case.run("plan", "--out", "plan.json", *words, code=1)[1]
    pa.parquet.write_table(pa.table({"x": case.xs, "form": ["b0"] * 300}), tmp_path / "m.parquet")
    words = ["--messages", str(tmp_path / "m.parquet"), "--source", one, "--source-column", "from"]
    assert (
        "has no column 'from' to name the source of messages; did you mean 'form'?"
        in (case.run("plan", "--out", "plan.json", *words, code=1)[1])
    )


@pytest.mark.parametrize("scheme", ["masked", "semcast", "spt"])
def test_a_plan_from_a_plan_changes_what_is_worth_it(
    spark: SparkSession,
    topology: Topology,
    tmp_path: Path,
    scheme: str,
) -> None:
    case = Case(tmp_path, topology)
    quick = ["--oracle", "0"]
    case.run("plan", "--scheme", scheme, "--channels", "4", "--out", "old.json", *quick)
    words = ["--from", str(tmp_path / "old.json"), "--json", *quick]
    out, told = case.run("plan", "--channels", "4", *words, "--out", "same.json")
    found = json.loads(out)
    old, same = (Plan.from_json((tmp_path / name).read_text()) for name in ("old.json", "same.json"))
    assert "\nkept: " in told
    assert "epoch 1 → 1; channels: none changed" in told
    assert (found["epoch"], found["kept"] is not None) == (1, True)
    assert {c.id: set(c.tree) for c in same.channels} == {c.id: set(c.tree) for c in old.channels}
    gone, new = str(case.profiles.pop(0)["id"]), {**case.profiles[0], "id": "new", "gateway": case.names[-1]}
    written(tmp_path / "p.jsonl", [*case.profiles, new])
    out, told = case.run("plan", "--channels", "4", *words, "--out", "next.json")
    after = Plan.from_json((tmp_path / "next.json").read_text())
    assert (after.epoch, json.loads(out)["epoch"]) == (2, 2)
    assert "new" in after.subscriptions
    assert gone not in after.subscriptions
    assert after.cost["missed"] == 0
    assert after.gateways[: len(old.gateways)] == old.gateways
    assert f"is a plan of {scheme!r}" in case.run("plan", "--scheme", "unicast", *words, "--out", "x.json", code=1)[1]


def test_frames_of_a_source_take_the_channels_of_that_source(
    spark: SparkSession,
    topology: Topology,
    tmp_path: Path,
) -> None:
    case = Sources(tmp_path, topology)
    case.run("plan", "--scheme", "spt", "--out", "plan.json", *case.words, "--oracle", "0")
    plan = Plan.from_json((tmp_path / "plan.json").read_text())
    texts = {str(profile["id"]): str(profile["text"]) for profile in case.profiles}
    frame = spark.createDataFrame([(3,)], "x int")
    assert {channel.source for channel in plan.channels} == set(case.sources)
    for channel in plan.channels:
        (row,) = route(frame, plan, texts, source=channel.source).collect()
        assert row["channels"] == [channel.id]
    with pytest.raises(semcast.model.SemcastError, match="no channel for messages of the source 'b1'"):
        route(frame, plan, texts, source="b1")
