"""What the mixed benchmark says of its figures."""

from __future__ import annotations

from semcast_experiments.bench.mixed import _lines


def test_a_figure_that_is_lost_in_noise_is_named_as_such() -> None:
    peers = [
        {"peer": "DuckDB", "plan": "one", "us_per_message_cpu": 7.0, "ratio_cpu": None},
        {"peer": "DuckDB", "plan": "two", "us_per_message_cpu": None, "ratio_cpu": None},
    ]
    said = _lines("W1", {"clock": "cpu", "ours": {"us_per_message_cpu": None}, "peers": peers})
    assert said == [
        "W1: semcast lost in noise",
        "W1: DuckDB, one: 7.00 µs per message (cpu time)",
        "W1: DuckDB, two: lost in noise",
    ]
