"""Laws of what is sent and of what is left over, each broken once."""

from __future__ import annotations

from typing import Any

from semcast.model.message import ProfileText
from semcast.protocol.contract import Send
from semcast.protocol.stores import Record
from semcast.protocol.wire.frames import (
    Attach,
    Fetch,
    Heartbeat,
    Install,
    Installed,
    Lease,
    Live,
    Repair,
    RosterFollowed,
    Switch,
    Switched,
    Tally,
)
from semcast.sim.driver import Driver
from semcast.sim.end_laws import Watch, left_over, made_up_gaps, needless_gaps, outdated, restless
from semcast.sim.faults import Slow
from semcast.sim.network import Water
from semcast.sim.parties import Party
from semcast.sim.stores import MemoryLog
from semcast.sim.witness import Witness
from tests.simulator.worlds import Recorder, driver, line, silent


class Told(Recorder):
    def __init__(self, state: dict[str, Any]) -> None:
        super().__init__()
        self._state = state

    def leads(self, now: float) -> bool:
        return bool(self._state.get("leads"))

    def state(self) -> dict[str, Any]:
        return self._state


def heartbeat(revision: tuple[int, int] = (1, 1), position: int | None = None, epoch: int = 0) -> Heartbeat:
    return Heartbeat("b0", 1, 0.0, revision, (), position, epoch)


def watched(*frames: Any) -> list[str]:
    world = driver(line(1))
    silent(world, "b0", "b1")
    watch = Watch(world)
    world.do(world.parties["b0"], [Send("b1", frame) for frame in frames])
    return [found.what for found in watch.violations]


def test_what_rises_is_right() -> None:
    assert watched(heartbeat((1, 2)), heartbeat((1, 2)), heartbeat((2, 1), 5, 3), heartbeat((2, 1), 5, 4)) == []


def test_a_revision_does_not_go_back() -> None:
    assert watched(heartbeat((2, 1)), heartbeat((1, 9))) == ["revision from (2, 1) to (1, 9)"]


def test_a_source_does_not_go_back_to_an_older_plan_or_position() -> None:
    assert watched(heartbeat(position=5, epoch=2), heartbeat(position=4, epoch=1)) == [
        "epoch from (2, 0) to (1, 0)",
        "position from (5,) to (4,)",
    ]


def test_a_coordinator_does_not_go_back_in_terms_nor_a_broker() -> None:
    assert watched(Install(2, 1, (), ()), Install(1, 5, (), ()))[0] == "term from (2,) to (1,)"
    assert watched(Switch(2, 1, "masked", (), (), ()), Install(1, 5, (), ()))[0] == "term from (2,) to (1,)"
    assert watched(Installed("b0", 1, 3, 1), Installed("b0", 1, 2, 1)) == ["term from (3,) to (2,)"]


def test_tallies_of_others_are_passed_on_in_any_order_and_own_ones_are_not() -> None:
    def tally(source: str, epoch: int) -> Tally:
        return Tally(key=("c", 1), epoch=epoch, previous=0, since=0, source=source, incarnation=1, through=1, counts={})

    assert watched(tally("b1", 2), tally("b1", 1)) == []
    assert watched(tally("b0", 2), tally("b0", 1)) == ["epoch of tallies from (1, 2, 0) to (1, 1, 0)"]


def test_no_source_matches_by_an_older_version_what_is_published_when_another_is_live() -> None:
    world, log, witness = driver(line(1)), MemoryLog(), Witness()
    silent(world, "b0", "b1")
    watch = Watch(world)
    for at, version in ((1.0, 2), (2.0, 2), (3.0, 4), (4.0, 2)):
        world.agenda.run(at)
        world.do(world.parties["b0"], [Send("b1", Live(1, 1, 1, version, ()))])
    assert watch.live == [(1.0, 2), (3.0, 4)]
    follows = [RosterFollowed("b1", 1, 1, 0), Switched("b1", 1, 1, 7, 2, 2), RosterFollowed("b1", 1, 4, 5)]
    world.do(world.parties["b1"], [Send("b0", frame) for frame in follows])
    for number, invoked in enumerate([0.5, 1.0, 1.5, 2.9, 3.5, 3.6], 1):  # by versions 1, 1, 2, 2, 2, 4
        log.append([Record(number, "p0", number, 7, (), b"")])
        witness.published("p0", number, invoked)
    found = list(outdated(watch, witness, {"b1": log}))
    assert [(one.law, one.who, one.what.split()[1]) for one in found] == [("leases hold", "b1", "5")]


def calm(world: Driver, *, bound: int = 512, retain: int = 0) -> list[str]:
    return [found.law for found in left_over(world, bound=bound, retain=retain)]


def overlay(broker: list[tuple[str, int]], wanted: list[list[Any]], leads: tuple[bool, ...] = (True,)) -> Driver:
    world = driver(line(1))
    world.add(Party("b0", "broker", "b0", lambda _, now: Told({"tables": broker})))
    for at, leading in enumerate(leads):
        told = {"leads": leading, "tables": {"b0": wanted}}
        world.add(Party(f"c{at}", "coordinator", "b1", lambda _, now, told=told: Told(told)))  # type: ignore[misc]
    return world


def test_brokers_have_exactly_the_tables_of_the_newest_plan() -> None:
    assert calm(overlay([("c", 1)], [["c", 1]])) == []
    assert calm(overlay([("c", 1), ("c", 2)], [["c", 2]])) == ["no tables are left over"]
    assert calm(overlay([], [["c", 2]])) == ["no tables are left over"]


def test_one_coordinator_leads_in_the_end() -> None:
    assert calm(overlay([], [], leads=(True, False))) == []
    assert calm(overlay([], [], leads=(True, True))) == ["one coordinator leads"]
    assert calm(overlay([], [], leads=(False,))) == ["one coordinator leads"]


def test_logs_are_trimmed_but_for_what_is_retained() -> None:
    world = overlay([], [])
    log = MemoryLog()
    log.append(Record(number, "o", number, 0, (), b"") for number in range(1, 11))
    log.sync(10)
    log.trim(7)
    world.add(Party("b1", "broker", "b1", lambda _, now: Recorder(), log=log))
    assert calm(world, retain=3) == []
    assert calm(world, retain=2) == ["logs are trimmed"]


def test_queues_stay_within_their_bound() -> None:
    world = driver(line(1), water=Water(4, 1, 10))
    silent(world, "b0", "b1")
    world.add(Party("c0", "coordinator", "b1", lambda _, now: Told({"leads": True})))
    world.plan(Slow(from_s=0.0, to_s=5.0, party="b1", service_ms=10))
    sends = [Send("b1", heartbeat()) for _ in range(12)]
    world.agenda.put(0.1, lambda _: world.do(world.parties["b0"], list(sends)))
    world.agenda.run(0.2)
    assert calm(world, bound=10) == ["queues are bounded"]


def test_calm_runs_fetch_nothing_and_drop_nothing() -> None:
    world = driver(line(1))
    silent(world, "b0", "b1")
    watch = Watch(world)
    b0, b1 = world.parties["b0"], world.parties["b1"]
    world.do(b0, [Send("b1", Fetch("b0", 1, None)), Send("b1", Fetch("b0", 2, 0))])
    world.do(b1, [Send("b0", Repair("b1", 9, (1, 2), (b"", b"")))])  # for a session from before it was there
    assert list(restless(watch, {"live": 9, "epoch": 1})) == []
    world.do(b0, [Send("b1", Fetch("b0", 3, 5))])
    world.do(b1, [Send("b0", Repair("b1", 3, (6, 7), (b"", b"")))])
    found = list(restless(watch, {"dropped": 2, "gap": 1, "epoch": 1}))
    assert [violation.what for violation in found] == [
        "asked b1 for messages 3 times", "fetched 2 messages from the log of b1", "2 × dropped", "1 × gap",
    ]  # fmt: skip


def test_a_gap_notice_names_what_has_gone_from_the_log() -> None:
    log = MemoryLog()
    log.append(Record(number, "o", number, 0, (), b"") for number in range(1, 11))
    log.sync(10)
    log.trim(5)
    for first, through, laws in ((2, 5, []), (2, 6, ["gaps are real"]), (4, 4, ["gaps are real"])):
        witness = Witness()
        witness.subscribed("s", ProfileText("news", "topic", "a"), 0.0)
        witness.gap("s", "b0", first, through, 1.0)
        assert [found.law for found in made_up_gaps(witness, {"b0": log})] == laws


def test_in_calm_runs_clients_stay_where_they_are() -> None:
    world = driver(line(1))
    silent(world, "b0", "b1")
    watch = Watch(world)
    attach = Attach("s", ProfileText("news", "topic", "a"))
    for to in ("b1", "b1"):
        world.do(world.parties["b0"], [Send(to, attach)])
    assert list(restless(watch, {})) == []
    world.do(world.parties["b0"], [Send("b9", attach)])
    assert [found.what for found in restless(watch, {})] == ["left its gateway: b1, b9"]
    assert list(restless(watch, {}, together=True)) == []


def test_only_one_life_of_one_coordinator_gives_orders_in_a_term() -> None:
    world = driver(line(1))
    silent(world, "b0", "b1")
    watch = Watch(world)
    first, second = world.parties["b0"], world.parties["b1"]
    for party, term in ((first, 1), (first, 1), (second, 2)):
        world.do(party, [Send("b1", Lease(term, 0.0, 1.0, 1))])
    assert watch.violations == []
    world.crash(second)
    world.restart(second)
    world.do(second, [Send("b0", Lease(2, 0.0, 1.0, 1))])
    (found,) = watch.violations
    assert (found.law, found.who) == ("one leader a term", "b1")


def gaps_of_a_client_that_stays(live_at: float, *, moves: bool = False, retain_absent: int = 100) -> list[str]:
    """Three messages are published, one a second; the second is lost to a session that is live since then."""
    world = driver(line(1))
    silent(world, "b0", "b1")
    world.add(Party("s", "client", "b1", lambda incarnation, now: Recorder()))
    log = world.parties["b0"].log = MemoryLog()
    log.append(Record(number, "p", number, 1, (), b"") for number in (1, 2, 3))
    watch, witness = Watch(world), Witness()
    attach = Attach("s", ProfileText("news", "topic", "a"))
    world.do(world.parties["s"], [Send(to, attach) for to in (("b1", "b0") if moves else ("b1",))])
    witness.subscribed("s", attach.profile, 0.0)
    witness.live("s", 0, {"b0": 0}, live_at)
    for number in (1, 2, 3):
        witness.published("p", number, float(number))
    witness.gap("s", "b0", 1, 2, 4.0)
    return [found.law for found in needless_gaps(watch, witness, world, retain_absent)]


def test_who_stays_at_a_gateway_that_stays_loses_nothing() -> None:
    assert gaps_of_a_client_that_stays(live_at=1.5) == ["gaps have a reason"]


def test_a_gap_may_be_before_a_subscription_or_behind_a_move_or_older_than_logs_are_kept() -> None:
    assert gaps_of_a_client_that_stays(live_at=2.5) == []
    assert gaps_of_a_client_that_stays(live_at=1.5, moves=True) == []
    assert gaps_of_a_client_that_stays(live_at=1.5, retain_absent=2) == []
