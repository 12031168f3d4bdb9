"""Our own comparisons, very small: schemes in their order, and interests that drift."""

from __future__ import annotations

from pathlib import Path

import pytest

from semcast_experiments.figures.ours.course import Course, measure
from semcast_experiments.figures.ours.setup import gap
from semcast_experiments.figures.semantic.approaches import Audience, compared
from semcast_experiments.figures.semantic.sizes import drawn_sizes
from semcast_experiments.figures.topics.streaming import Deployment, samples
from tests.figures.costs import cost_row


def test_a_gap_is_above_the_oracle_with_the_legs() -> None:
    rows = [cost_row("oracle", 10), cost_row("semcast", 9, leg=3), cost_row("masked/16", 10.5)]
    ((x, value),) = gap(rows, "semcast", lambda case: case[2])
    assert (x, value.value) == (60, pytest.approx(20))


def test_while_interests_drift_a_new_plan_costs_least_and_a_changed_one_is_between() -> None:
    course = Course("waxman", 4.0, 40, 200, 12, 4, 3, 0.5, 120, 12, 1)
    rows = measure(course)
    assert rows == measure(course)
    assert [row.epoch for row in rows if row.plan == "kept"] == [0, 1, 2]
    first = {row.plan: row.above for row in rows if row.epoch == 0}
    assert first["kept"] == first["changed"] == first["new"] < first["spt"]
    moved = [row.moved for row in rows if row.plan == "kept"]
    assert moved[0] == 0 < moved[1] < moved[2] < 1
    last = {row.plan: row.above for row in rows if row.epoch == 2}
    assert last["new"] < last["spt"]


def test_headers_hardly_vary_and_packets_do() -> None:
    rows = drawn_sizes(200, 1)
    assert max(row.header for row in rows) - min(row.header for row in rows) < 10
    assert max(row.total for row in rows) > 5 * min(row.total for row in rows)
    assert all(row.total > row.header for row in rows)


def test_channels_deliver_what_nobody_asked_for_and_profiles_do_not() -> None:
    found = {row.approach: row for row in compared(Audience(30, 100, 1))}
    assert found["channels"].unwanted > 0 == found["content"].unwanted == found["semantic"].unwanted
    assert found["channels"].changes > 1
    assert found["channels"].address_bytes < found["content"].address_bytes < found["semantic"].address_bytes
    assert all(row.us_per_packet > 0 for row in found.values())


def test_one_broker_passes_payloads_of_every_size_on(tmp_path: Path) -> None:
    rows = samples(Deployment((100, 200_000), 2, 1))
    assert [row.payload_bytes for row in rows] == [100, 100, 200_000, 200_000]
    assert all(row.delivered_ms > 0 for row in rows)
