"""Lanes: order, loss, copies, partitions, queues before slow parties, crashes."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import pytest

from semcast.protocol.contract import Command, Congested, Event, Received, Relieved, Tick
from semcast.protocol.wire.frames import Beat, Tally
from semcast.sim.clock import Clock
from semcast.sim.driver import Driver
from semcast.sim.faults import Crash, Jitter, Loss, Partition, Pause, Skew, Slow, Twice
from semcast.sim.network import Water
from semcast.sim.stores import MemoryLog
from tests.simulator.worlds import Flooder, Logger, Recorder, built, driver, join, line, silent


def send(world: Driver, sender: str, to: str, *values: float) -> None:
    for value in values:
        world.network.send(world.parties[sender], to, Beat(value))


def arrivals(machine: Recorder) -> list[float]:
    return [now for now, event in machine.events if not isinstance(event, Tick)]


def test_a_link_takes_its_delay_and_a_way_past_the_overlay_that_of_the_shortest_path() -> None:
    world = driver(line(10, 20, 30))
    _, b1, _, b3 = silent(world, "b0", "b1", "b2", "b3")
    send(world, "b0", "b1", 1)
    send(world, "b0", "b3", 2)
    world.agenda.run(1.0)
    assert arrivals(b1) == [pytest.approx(0.010)]
    assert arrivals(b3) == [pytest.approx(0.060)]
    kind = world.meters.kind("beat")
    assert kind.frames == 2
    assert kind.byte_hops == kind.size_bytes // 2 * (1 + 3)


def test_frames_of_one_lane_arrive_in_order_whatever_jitter_does() -> None:
    world = driver(line(5))
    _, b1 = silent(world, "b0", "b1")
    world.plan(Jitter(from_s=0.0, to_s=1.0, most_ms=400))
    for step in range(100):
        world.agenda.put(step / 100, lambda value: send(world, "b0", "b1", value), float(step))
    world.agenda.run(2.0)
    assert b1.beats == [float(step) for step in range(100)]
    assert max(arrivals(b1)) > 1.1


def test_frames_of_different_lanes_overtake_each_other() -> None:
    world = driver(line(50, 1))
    _, b1, _ = silent(world, "b0", "b1", "b2")
    send(world, "b0", "b1", 1)
    send(world, "b2", "b1", 2)
    world.agenda.run(1.0)
    assert b1.beats == [2.0, 1.0]


def test_loss_takes_about_its_share_and_only_while_it_lasts() -> None:
    world = driver(line(1))
    _, b1 = silent(world, "b0", "b1")
    world.plan(Loss(from_s=1.0, to_s=2.0, probability=0.25))
    for begin in (0.5, 1.5, 2.5):
        world.agenda.put(begin, lambda begin: send(world, "b0", "b1", *[begin] * 400), begin)
    world.agenda.run(3.0)
    assert [b1.beats.count(begin) for begin in (0.5, 2.5)] == [400, 400]
    assert 260 < b1.beats.count(1.5) < 340
    assert world.meters.drops["loss"] == 400 - b1.beats.count(1.5)


def test_losses_add_up_as_independent_ones_do() -> None:
    world = driver(line(1))
    _, b1 = silent(world, "b0", "b1")
    for _ in range(2):
        world.plan(Loss(from_s=0.0, to_s=1.0, probability=0.5))
    world.agenda.put(0.5, lambda _: send(world, "b0", "b1", *[0.0] * 1000))
    world.agenda.run(1.0)
    assert 200 < len(b1.beats) < 300


def test_a_copy_comes_right_behind_its_frame() -> None:
    world = driver(line(1))
    _, b1 = silent(world, "b0", "b1")
    world.plan(Twice(from_s=0.0, to_s=1.0, probability=0.5))
    world.agenda.put(0.5, lambda _: send(world, "b0", "b1", *map(float, range(200))))
    world.agenda.run(1.0)
    assert sorted(b1.beats) == b1.beats
    copies = [value for value in range(200) if b1.beats.count(value) == 2]
    assert 60 < len(copies) < 140
    assert set(b1.beats) == set(map(float, range(200)))


def test_machines_share_no_frame() -> None:
    world = driver(line(1))
    _, b1 = silent(world, "b0", "b1")
    counts = {3: 1}
    frame = Tally(key=("c", 1), epoch=1, previous=0, since=0, source="b0", incarnation=1, through=5, counts=counts)
    world.network.send(world.parties["b0"], "b1", frame)
    counts[3] = 99
    world.agenda.run(1.0)
    (got,) = b1.frames
    assert isinstance(got, Tally)
    assert got is not frame
    assert got.counts == {3: 1}


def test_a_partition_cuts_its_side_from_the_rest_and_nothing_inside() -> None:
    world = driver(line(1, 1, 1))
    machines = dict(zip(("b0", "b1", "b2", "b3"), silent(world, "b0", "b1", "b2", "b3"), strict=True))
    world.plan(Partition(from_s=0.0, to_s=1.0, side=("b0", "b1")))
    pairs = [("b0", "b1"), ("b1", "b2"), ("b2", "b3"), ("b3", "b0")]
    world.agenda.put(0.5, lambda _: [send(world, a, b, 1) for a, b in pairs])
    world.agenda.put(1.5, lambda _: [send(world, a, b, 2) for a, b in pairs])
    world.agenda.run(2.0)
    assert {name: machine.beats for name, machine in machines.items()} == {
        "b0": [2.0], "b1": [1.0, 2.0], "b2": [2.0], "b3": [1.0, 2.0],
    }  # fmt: skip
    assert world.meters.drops == {"partition": 2}


def test_what_is_under_way_when_a_partition_begins_is_lost() -> None:
    world = driver(line(100))
    _, b1 = silent(world, "b0", "b1")
    world.plan(Partition(from_s=0.05, to_s=0.5, link=("b0", "b1")))
    send(world, "b0", "b1", 1)
    world.agenda.run(1.0)
    assert b1.beats == []


def test_a_one_way_partition_lets_the_other_way_through() -> None:
    world = driver(line(1))
    b0, b1 = silent(world, "b0", "b1")
    world.plan(Partition(from_s=0.0, to_s=1.0, link=("b1", "b0"), one_way=True))
    world.agenda.put(0.5, lambda _: (send(world, "b0", "b1", 1), send(world, "b1", "b0", 2)))
    world.agenda.run(1.0)
    assert (b0.beats, b1.beats) == ([], [1.0])


def test_a_link_that_is_cut_leaves_other_ways_alone() -> None:
    world = driver(line(1, 1))
    b0, b1, _ = silent(world, "b0", "b1", "b2")
    world.plan(Partition(from_s=0.0, to_s=1.0, link=("b0", "b1")))
    world.agenda.put(0.5, lambda _: (send(world, "b0", "b1", 1), send(world, "b2", "b0", 2)))
    world.agenda.run(1.0)
    assert (b0.beats, b1.beats) == ([2.0], [])


def test_a_partition_that_holds_lets_stale_frames_through_in_order_when_it_is_over() -> None:
    world = driver(line(10))
    _, b1 = silent(world, "b0", "b1")
    world.plan(Partition(from_s=0.0, to_s=1.0, link=("b0", "b1"), hold=True))
    world.agenda.put(0.5, lambda _: send(world, "b0", "b1", 1, 2))
    world.agenda.put(1.001, lambda _: send(world, "b0", "b1", 3))
    world.agenda.run(2.0)
    assert b1.beats == [1.0, 2.0, 3.0]
    assert arrivals(b1)[0] == pytest.approx(1.01)


def test_a_slow_party_takes_frames_one_by_one_and_its_neighbour_is_told_of_the_queue() -> None:
    world = driver(line(1), water=Water(high=8, low=2, bound=100))
    b0, b1 = silent(world, "b0", "b1")
    world.plan(Slow(from_s=0.0, to_s=5.0, party="b1", service_ms=10))
    world.agenda.put(0.5, lambda _: send(world, "b0", "b1", *map(float, range(20))))
    world.agenda.run(2.0)
    assert b1.beats == [float(at) for at in range(20)]
    times = arrivals(b1)
    assert all(later - sooner == pytest.approx(0.01) for sooner, later in pairwise(times))
    assert b0.others == [Congested("b1"), Relieved("b1")]
    assert world.network.highest == 20


def test_a_slow_period_that_ends_does_not_let_new_frames_overtake() -> None:
    world = driver(line(1))
    _, b1 = silent(world, "b0", "b1")
    world.plan(Slow(from_s=0.0, to_s=0.6, party="b1", service_ms=50))
    world.agenda.put(0.5, lambda _: send(world, "b0", "b1", *map(float, range(10))))
    world.agenda.put(0.7, lambda _: send(world, "b0", "b1", 10.0))
    world.agenda.run(3.0)
    assert b1.beats == [float(at) for at in range(11)]


def test_a_queue_beyond_its_bound_loses_frames_and_says_so() -> None:
    world = driver(line(1), water=Water(high=4, low=1, bound=10))
    _, b1 = silent(world, "b0", "b1")
    world.plan(Slow(from_s=0.0, to_s=5.0, party="b1", service_ms=10))
    world.agenda.put(0.5, lambda _: send(world, "b0", "b1", *map(float, range(15))))
    world.agenda.run(2.0)
    assert len(b1.beats) == 10
    assert world.meters.drops == {"queue full": 5}


def test_a_crash_loses_what_is_on_the_way_to_it_and_it_comes_back_anew() -> None:
    world = driver(line(100))
    incarnations: list[int] = []
    machines: list[Recorder] = []

    def build(incarnation: int, now: float) -> Recorder:
        incarnations.append(incarnation)
        machines.append(Recorder())
        return machines[-1]

    built(world, "b1", build)
    silent(world, "b0")
    world.plan(Crash(from_s=0.5, to_s=1.0, party="b1"))
    for begin in (0.1, 0.45, 0.7, 0.95, 1.1):
        world.agenda.put(begin, lambda begin: send(world, "b0", "b1", begin), begin)
    world.agenda.run(2.0)
    assert incarnations == [1, 2]
    assert [machine.beats for machine in machines] == [[0.1], [0.95, 1.1]]
    assert world.meters.drops == {"connection broken": 1, "receiver is down": 1}


def test_of_what_a_crashed_party_had_sent_a_first_part_arrives() -> None:
    counts = set()
    for seed in range(30):
        world = driver(line(100), seed)
        _, b1 = silent(world, "b0", "b1")
        for step in range(10):
            world.agenda.put(0.4 + step / 100, partial(send, world, "b0", "b1"), float(step))
        world.plan(Crash(from_s=0.495, to_s=0.6, party="b0"))
        world.agenda.run(2.0)
        assert b1.beats == [float(at) for at in range(len(b1.beats))]
        counts.add(len(b1.beats))
    assert len(counts) > 5


def test_a_neighbour_of_a_crashed_slow_party_is_not_left_congested() -> None:
    world = driver(line(1), water=Water(high=3, low=1, bound=100))
    b0, _ = silent(world, "b0", "b1")
    world.plan(Slow(from_s=0.0, to_s=5.0, party="b1", service_ms=500))
    world.plan(Crash(from_s=1.0, to_s=2.0, party="b1"))
    world.agenda.put(0.5, lambda _: send(world, "b0", "b1", *map(float, range(9))))
    world.agenda.run(1.5)
    assert b0.others == [Congested("b1"), Relieved("b1")]


def test_a_paused_party_hears_nothing_and_then_everything() -> None:
    world = driver(line(1))
    _, b1 = silent(world, "b0", "b1")
    world.plan(Pause(from_s=0.5, to_s=1.5, party="b1"))
    world.agenda.put(0.7, lambda _: send(world, "b0", "b1", 1, 2))
    world.agenda.run(2.0)
    assert b1.beats == [1.0, 2.0]
    assert not [now for now, _ in b1.events if 0.5 < now < 1.5]


def test_each_machine_is_given_its_own_clock() -> None:
    world = driver(line(1))
    recorder = Recorder()
    join(world, "b0", recorder, Clock(50.0))
    world.plan(Skew(from_s=1.0, to_s=2.0, party="b0", rate=2.0, jump_s=3.0))
    world.agenda.run(3.0)
    times = [now for now, _ in recorder.events]
    assert times == sorted(times)
    assert times[0] == pytest.approx(50.0, abs=0.1)
    assert times[-1] == pytest.approx(50.0 + 1 + 3 + 2 + 1, abs=0.15)


def test_ticks_come_about_every_period() -> None:
    world = driver(line(1), tick_s=0.1)
    (b0,) = silent(world, "b0")
    world.agenda.run(10.0)
    times = [now for now, _ in b0.events]
    assert 95 <= len(times) <= 105
    assert all(0.089 < later - sooner < 0.111 for sooner, later in pairwise(times))


def test_a_sync_makes_the_log_durable_and_is_confirmed_in_order() -> None:
    world = driver(line(1), tick_s=0.001)
    log = MemoryLog()
    machine = Logger(log)
    built(world, "b0", lambda _, now: machine, log)
    world.agenda.run(1.0)
    assert log.synced == machine.synced > log.end - 10
    through = [event.through for event in machine.others]  # type: ignore[union-attr]
    assert through == list(range(1, machine.synced + 1))


def test_a_crash_before_the_sync_is_done_may_lose_records_and_never_confirms_them() -> None:
    lost = 0
    for seed in range(20):
        world = driver(line(1), seed, tick_s=0.001)
        log = MemoryLog()
        machines: list[Logger] = []

        def build(_: int, now: float, log: MemoryLog = log, machines: list[Logger] = machines) -> Logger:
            machines.append(Logger(log))
            return machines[-1]

        built(world, "b0", build, log)
        world.plan(Crash(from_s=0.1, to_s=0.2, party="b0"))
        world.agenda.run(0.15)
        assert machines[0].synced <= log.end
        lost += log.end < len([event for _, event in machines[0].events if isinstance(event, Tick)])
    assert lost > 5


def test_a_frame_to_nobody_is_counted() -> None:
    world = driver(line(1))
    silent(world, "b0")
    send(world, "b0", "b9", 1)
    assert world.meters.drops == {"nobody of that name": 1}


def test_flooding_reaches_everybody() -> None:
    world = driver(line(1, 1))
    machines = [Flooder(("b1",)), Flooder(("b0", "b2")), Flooder(("b1",))]
    for at, machine in enumerate(machines):
        join(world, f"b{at}", machine)
    world.agenda.run(1.0)
    assert len(machines[1].beats) >= 2 * len(machines[0].beats) - 2


class Failing(Recorder):
    def handle(self, event: Event, now: float) -> list[Command]:
        super().handle(event, now)
        if isinstance(event, Received):
            raise KeyError("b7")
        return []


def test_a_machine_that_raises_has_crashed_and_is_started_again() -> None:
    world = driver(line(1))
    machines: list[Failing] = []

    def build(incarnation: int, now: float) -> Failing:
        machines.append(Failing())
        return machines[-1]

    built(world, "b1", build)
    silent(world, "b0")
    world.agenda.put(0.5, lambda _: send(world, "b0", "b1", 1))
    world.agenda.run(2.0)
    (found,) = world.failures
    assert (found.law, found.who) == ("no machine fails", "b1")
    assert "Beat: KeyError: 'b7' (test_network.py:" in found.what
    assert len(machines) == 2
    assert machines[1].events
