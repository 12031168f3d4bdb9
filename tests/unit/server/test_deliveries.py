"""What a gateway hands to its clients, and how old it is."""

from __future__ import annotations

from semcast.model.message import Message, packed
from semcast.protocol.wire.frames import Deliver
from semcast.server.deliveries import BUCKETS_MS, Deliveries


def deliver(time_ms: int, sequence: int = 1) -> Deliver:
    message = Message("quotes", b'{"price": 1}', "a/b", time_ms, "k", (("h", "v"),))
    return Deliver("s", sequence, "b0", 7, packed(message))


def test_ages_fall_into_their_buckets_and_clocks_that_differ_make_no_negative_ones() -> None:
    found = Deliveries()
    times = [(1000, 1000.5), (1000, 1001.0), (1000, 1003.0), (2000, 1000.0), (1000, 1e9)]
    for sequence, (at, now) in enumerate(times):
        found.took(deliver(at, sequence), now)
    assert found.messages == found.aged == sum(found.ages) == 5
    assert found.ages[0] == 3  # up to a millisecond, with the bound itself
    assert found.ages[BUCKETS_MS.index(5.0)] == 1
    assert found.ages[-1] == 1


def test_a_message_without_an_event_time_has_no_age() -> None:
    found = Deliveries()
    found.took(deliver(0), 1000.0)
    assert (found.messages, found.aged, sum(found.ages)) == (1, 0, 0)
    assert found.bytes == len(deliver(0).body)


def test_what_is_said_again_counts_once() -> None:
    found = Deliveries()
    for sequence in (1, 2, 1, 2, 3):
        found.took(deliver(1000, sequence), 1000.0)
    assert found.messages == 3


def test_a_session_is_told_what_it_was_given_and_how_old_that_was() -> None:
    found = Deliveries()
    for sequence, age in ((1, 4.0), (1, 9.0), (2, 12.0), (3, 5.0)):
        found.took(deliver(1000, sequence), 1000.0 + age)
    assert found.to("s").as_dict() == {"messages": 3, "mean_ms": 7.0, "last_ms": 5.0, "worst_ms": 12.0}
    assert found.to("nobody").as_dict() == {"messages": 0, "mean_ms": None, "last_ms": None, "worst_ms": None}
