"""What `semcast bench mqtt` and `semcast bench publish` make of what they measured."""

from __future__ import annotations

import pytest

from semcast.profiles.topic import from_mqtt
from semcast_experiments.bench.clients import mqtt, publish
from semcast_experiments.bench.clients.mqtt import CASES
from semcast_experiments.bench.clients.publishers import Jetstream, Stint


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_every_subscriber_gets_what_is_published(case: mqtt.Case) -> None:
    for filter in case.filters:
        wanted = from_mqtt(filter).text.split("/")
        levels = case.topic.split("/")
        ends = wanted[-1] == "$"
        wanted = wanted[:-1] if ends else wanted
        assert all(want in ("*", level) for want, level in zip(wanted, levels, strict=False))
        assert len(wanted) == len(levels) if ends else len(wanted) <= len(levels)


def test_the_filters_that_should_differ_do() -> None:
    assert len(set(CASES[-1].filters)) == mqtt.SUBSCRIBERS


@pytest.mark.parametrize("piece", [1, 3, 7, 50, 1000])
def test_acknowledgements_are_counted_wherever_the_stream_is_cut(piece: int) -> None:
    answers = b"".join(b'MSG acks 2 28\r\n{"stream":"bench", "seq":%d}\r\n' % number for number in range(8, 13))
    line = Jetstream.__new__(Jetstream)
    line._tail = b""
    pieces = iter([answers[first : first + piece] for first in range(0, len(answers), piece)])
    line._received = lambda: next(pieces)  # type: ignore[method-assign]
    assert sum(line._acknowledged() for _ in range(-(-len(answers) // piece))) == 5


def test_ratios_are_medians_of_each_rounds_ratio() -> None:
    own = [Stint(100, 1.0, 0.5, 0.0), Stint(300, 1.0, 0.5, 0.0), Stint(400, 2.0, 0.5, 0.0)]
    peer = [Stint(100, 1.0, 1.0, 0.0), Stint(100, 1.0, 1.0, 0.0), Stint(100, 1.0, 1.0, 0.0)]
    record = publish._record(own, peer)
    assert (record["ratio"], record["ratio_cpu"]) == (2.0, 6.0)
    assert [(one["messages"], one["wall_s"]) for one in record["rounds"]] == [(100, 1.0), (300, 1.0), (400, 2.0)]
    assert "ratio" not in publish._record(own, None)


def test_targets_are_judged_in_full_runs_only() -> None:
    cells = [{"case": "1→10", "bytes": 256, "contenders": {"semcast": {"ratio": 4.0, "ratio_cpu": 2.0}}}]
    assert [target["met"] for target in mqtt.targets(cells, quick=False)] == [True, False]
    assert [target["met"] for target in mqtt.targets(cells, quick=True)] == [None, None]
    cells = [{"bytes": 256, "under_way": publish.JUDGED, "contenders": {"semcast": {"ratio": 1.0, "ratio_cpu": 0.9}}}]
    assert [target["met"] for target in publish.targets(cells, quick=False)] == [True, False]
    assert publish.targets([{**cells[0], "under_way": 256}], quick=False) == []
