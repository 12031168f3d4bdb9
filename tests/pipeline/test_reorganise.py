"""Reorganisations made on Spark for a running coordinator: plan and deliveries are the same, whoever makes it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from semcast.client import BlockingClient
from semcast.client.blocking import BlockingSubscription
from semcast.model.message import ProfileText
from semcast.pipeline.reorganise import GROUP, SparkPlanner, reorganised
from semcast.pipeline.statistics import sampled
from semcast.planning.plan import Plan
from semcast.protocol.coordinator.commissions import Commission
from semcast.trees.generators import generate
from tests.laws.plan_orders import order_of
from tests.pipeline.overlays import client, overlay, until

pytestmark = [pytest.mark.spark, pytest.mark.system]
PATIENT = "planner_s = 600"
PROFILES = {"price < 40": range(40), "price >= 20 AND price < 60": range(20, 60), "symbol = 'A'": range(0, 100, 2)}


class Recorder(SparkPlanner):
    """Keeps the orders that it gets."""

    orders: list[bytes]

    def _make(self, order: bytes) -> bytes:
        self.orders = [*getattr(self, "orders", []), order]
        return super()._make(order)


class Watched:
    """Subscribers with overlapping profiles, and how often everything was published."""

    def __init__(self, here: BlockingClient) -> None:
        self.here = here
        self.subscriptions = {profile: here.subscribe("quotes", profile) for profile in PROFILES}
        self.rounds = 0

    def publish(self) -> None:
        self.rounds += 1
        for price in range(100):
            self.here.publish("quotes", {"symbol": "AB"[price % 2], "price": float(price)})

    def check(self) -> None:
        """Everybody has each of his messages as often as it was published, and no other."""
        for profile, prices in PROFILES.items():
            found = sorted(self.taken(self.subscriptions[profile], self.rounds * len(prices)))
            assert found == sorted(float(price) for price in prices for _ in range(self.rounds)), profile

    @staticmethod
    def taken(subscription: BlockingSubscription, count: int) -> Iterator[float]:
        for _ in range(count):
            message = subscription.next(60)
            assert message is not None
            yield message.json()["price"]
        assert subscription.next(0.5) is None


def status(here: BlockingClient) -> dict[str, object]:
    return here.ask("status", of="c0")  # type: ignore[no-any-return]


def reorganise(here: BlockingClient) -> dict[str, object]:
    """Ask for a reorganisation and wait until its plan is followed; how the coordinator stands then."""
    before = status(here)["epoch"]
    assert here.ask("reorganise", of="c0") is True
    until(lambda: status(here)["epoch"] != before and status(here)["phase"] == "settled")
    return status(here)


@pytest.mark.parametrize("scheme", ["masked", "semcast"])
def test_the_plan_is_made_by_jobs_of_spark_and_is_the_one_that_the_coordinator_would_have_made(
    spark: SparkSession, tmp_path: Path, scheme: str
) -> None:
    with overlay(tmp_path, scheme=scheme, settings=PATIENT) as url, client(url) as here:
        watched = Watched(here)
        watched.publish()
        jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup(GROUP))
        with Recorder(spark, url) as planner:
            until(lambda: status(here)["planners"])
            found = reorganise(here)
            watched.publish()
            assert str(found["planned_by"]).startswith("planner-")
            assert found["notes"]["planned elsewhere"] == 1  # type: ignore[index]
            (order,) = planner.orders
        commission = Commission.unpacked(order)
        assert sum(map(len, commission.rows.values())) == 100
        plan = msgspec.convert(here.ask("plan", of="c0"), Plan)
        assert plan == commission.found().plan
        assert plan.epoch == found["epoch"]
        ran = len(spark.sparkContext.statusTracker().getJobIdsForGroup(GROUP)) - jobs
        assert ran == (1 if scheme == "masked" else 2), "the search, and the overlap matrix where one is needed"
        until(lambda: not status(here)["planners"])
        assert reorganise(here)["planned_by"] == "here"
        watched.publish()
        watched.check()


@contextmanager
def planner_process(url: str) -> Iterator[subprocess.Popen[str]]:
    """``semcast planner``, killed when the block ends."""
    command = [sys.executable, "-m", "semcast", "planner", "--coordinator", url, "--master", "local[1]"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == {"ready": True}
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_a_driver_that_is_killed_over_an_order_costs_no_reorganisation_and_no_message(tmp_path: Path) -> None:
    with overlay(tmp_path, settings=PATIENT) as url, client(url) as here:
        watched = Watched(here)
        watched.publish()
        with planner_process(url) as planner:
            until(lambda: status(here)["planners"])
            assert str(reorganise(here)["planned_by"]).startswith("planner-")
            watched.publish()
            before = status(here)["epoch"]
            os.killpg(planner.pid, signal.SIGSTOP)
            here.ask("reorganise", of="c0")
            until(lambda: status(here)["planning"])
            os.killpg(planner.pid, signal.SIGKILL)
            until(lambda: status(here)["epoch"] != before and status(here)["phase"] == "settled")
        found = status(here)
        assert (found["planned_by"], found["planners"]) == ("here", {})
        assert found["notes"]["planner is gone"] == 1  # type: ignore[index]
        watched.publish()
        watched.check()


def test_the_planner_tells_what_it_made_and_ends_at_ctrl_c(tmp_path: Path) -> None:
    with overlay(tmp_path, settings=PATIENT) as url, client(url) as here, planner_process(url) as planner:
        Watched(here).publish()
        until(lambda: status(here)["planners"])
        found = reorganise(here)
        planner.send_signal(signal.SIGINT)
        _, told = planner.communicate(timeout=120)
        assert planner.returncode == 0, told[-3000:]
        assert f"plan {found['epoch']} made on Spark: 3 profiles, 100 samples" in told
        assert "1 plans made" in told
        assert "Traceback" not in told


def test_sampled_messages_are_matched_with_the_profiles_of_today_and_stand_in_for_what_sources_saw(
    spark: SparkSession, tmp_path: Path
) -> None:
    topology = generate("waxman", 12, np.random.default_rng(5), degree=3.0)
    names = [broker.id for broker in topology.brokers]
    wanted = {"p0": (names[4],), "late": (names[5],), "other": (names[6],)}
    rows: dict[str, list[tuple[str, ...]]] = {
        names[0]: [("p0",), ("p0",), (), ("other",)],
        names[1]: [("other",)],
    }
    order = order_of(topology, "semcast", wanted, 3, 2, samples=rows)
    texts = {"p0": ("quotes", "price < 2"), "late": ("quotes", "price < 4"), "other": ("more", "price > 0")}
    profiles = {name: ProfileText(stream, "relational", text) for name, (stream, text) in texts.items()}
    commission = msgspec.structs.replace(Commission.of(order), profiles=profiles)
    kept = [
        {"stream": "quotes", "source": names[0], "topic": None, "payload": json.dumps({"price": price})}
        for price in range(6)
    ]
    pq.write_table(pa.Table.from_pylist(kept), tmp_path / "batch-00000001.parquet")
    pq.write_table(pa.table({"payload": ["of an older version"]}), tmp_path / "batch-00000000.parquet")
    found = sampled(spark, tmp_path, commission)
    here = sorted(zip(found.rows[names[0]], found.weights[names[0]], strict=True))
    each = 2 / 4  # two messages at the source, in whose place four stand that anybody wants
    assert here == [
        ((), each), ((), each), ((), 1.0), (("late",), each), (("late",), each), (("other",), 1.0),
        (("p0", "late"), each), (("p0", "late"), each),
    ]  # fmt: skip
    assert (found.rows[names[1]], found.weights[names[1]]) == ([("other",)], [1.0])
    assert reorganised(spark, commission, tmp_path).plan == commission.found(found).plan
