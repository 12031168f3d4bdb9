from __future__ import annotations

from semcast.protocol.wire.frames import Data, Leg, Repair, Tally
from semcast.sim.meters import Meters

KEY = ("c", 1)


def data(*numbers: int) -> Data:
    return Data(KEY, 1, "b0", numbers, None, tuple(b"x" for _ in numbers))


def test_one_message_over_one_link_is_one_transmission() -> None:
    meters = Meters()
    meters.sent(data(1, 2), 100, 1, ("b0", "b1"))
    meters.sent(data(2), 50, 1, ("b1", "b2"))
    meters.sent(Leg("b2", 1, "b0", (3,), ((KEY,),), (b"x",)), 40, 1, ("b0", "b1"))
    told = meters.as_dict()
    assert told["links"] == {"b0>b1": 3, "b1>b2": 1}
    assert meters.messages["b0"] == {1: 1, 2: 2, 3: 1}
    assert (told["transmissions"], told["messages"]) == (4, 3)
    assert told["transmissions_per_message"] == 4 / 3


def test_what_goes_past_the_trees_counts_by_hops_and_is_no_data() -> None:
    meters = Meters()
    meters.sent(data(1, 2), 100, 1, ("b0", "b1"))
    meters.sent(Repair("b0", 1, (1,), (b"x",)), 60, 3, None)
    told = meters.as_dict()
    assert told["transmissions"] == 2
    assert told["repair_transmissions"] == 3
    assert told["repair_percent_of_transmissions"] == 150.0
    assert told["overhead_percent_of_data_bytes"]["repair"] == 180.0


def test_overhead_is_told_by_group_in_percent_of_data_bytes() -> None:
    meters = Meters()
    meters.sent(data(1), 200, 1, ("b0", "b1"))
    meters.sent(
        Tally(key=KEY, epoch=1, previous=0, since=0, source="b0", incarnation=1, through=1, counts={}),
        20,
        1,
        ("b0", "b1"),
    )
    shares = meters.overhead()
    assert (shares["tally"], shares["all"], shares["ack"]) == (10.0, 10.0, 0.0)
    assert Meters().overhead()["all"] == 0.0
