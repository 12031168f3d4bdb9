"""What `semcast bench subscriptions` asks for, and what it makes of what it measured."""

from __future__ import annotations

import socket
import threading
from itertools import islice, pairwise, permutations
from typing import Any

import pyarrow as pa
import pytest

import semcast
from semcast.model import SemcastError
from semcast_experiments.bench.subscriptions.figures import figures, spread, targets
from semcast_experiments.bench.subscriptions.overlay import COORDINATOR, GATEWAYS, SOURCE
from semcast_experiments.bench.subscriptions.peers import _acknowledged, _mqtt_chunk, _nats_chunk, _ponged
from semcast_experiments.bench.subscriptions.population import MATCHES, Population, beyond, profile
from semcast_experiments.bench.subscriptions.run import population_of
from semcast_experiments.bench.subscriptions.trial import marks
from semcast_experiments.cli.render_subscriptions import markdown

RELATIONAL = semcast.language("relational")
SCHEMA = semcast.Schema({"symbol": "string", "price": "double", "volume": "long"})


def test_no_profile_covers_another() -> None:
    near = [profile(number) for number in (*range(96, 104), 196, 197)] + list(islice(beyond(0), 4))
    parsed = [RELATIONAL.parse(text, SCHEMA) for text in near]
    assert not any(RELATIONAL.covers(a, b) for a, b in permutations(parsed, 2))


def test_two_profiles_match_each_message_and_none_beyond_the_population_does() -> None:
    population = Population(250, 1, seed=3)
    texts = [profile(number) for number in range(population.distinct)]
    matcher = RELATIONAL.matcher([RELATIONAL.parse(text, SCHEMA) for text in (*texts, *islice(beyond(1), 5))])
    messages = list(islice(population.messages(1), 300))
    pairs = matcher.match(pa.RecordBatch.from_pylist(messages)).pairs()
    counts = [0] * len(messages)
    for message, found in pairs:
        assert found < population.distinct
        counts[message] += 1
    assert counts == [MATCHES] * len(messages)


def test_each_profile_is_at_one_place_in_one_stage() -> None:
    population = Population(1234, 1, seed=5)
    stages = [0, *marks(1234, 100)]
    numbers = [
        number
        for first, through in pairwise(stages)
        for place in range(4)
        for number in population.numbers(first, through, place, 4)
    ]
    assert sorted(numbers) == list(range(1234))
    assert numbers != sorted(numbers)


def test_stages_end_at_the_burst_and_at_tenths() -> None:
    assert marks(100_000, 1000) == [1000, *range(10_000, 100_001, 10_000)]
    assert marks(10_000, 1000) == list(range(1000, 10_001, 1000))
    assert marks(1000, 1000) == [1000]
    assert marks(60, 1000) == [60]


def test_a_large_population_has_several_clients_for_a_profile() -> None:
    assert population_of(1_000_000, 1) == Population(100_000, 10, 1)
    assert population_of(100_000, 1) == Population(100_000, 1, 1)
    for wrong in (7, 100_001):
        with pytest.raises(SemcastError, match="a population of"):
            population_of(wrong, 1)


def _reading(rss: int, cpu_s: float, long_turns: int = 0) -> dict[str, Any]:
    found = {"rss_bytes": rss, "cpu_s": cpu_s, "waited_s": cpu_s / 4, "turns": 100}
    return {**found, "long_turns": long_turns, "longest_turn_ms": 12.34}


def _readings(rss: int, cpu_s: float, long_turns: int = 0) -> dict[str, Any]:
    return {name: _reading(rss, cpu_s, long_turns) for name in (*GATEWAYS, SOURCE, COORDINATOR)}


def _trial(clients: int = 1) -> dict[str, Any]:
    """100,000 profiles in stages that take 1 s at first and 2 s in the end."""
    stages, first = [], 0
    for place, through in enumerate(marks(100_000, 1000)):
        stages.append(
            {
                "first": first,
                "through": through,
                "live": (through - first) * clients,
                "refused": 0,
                "seconds": 2.0 if through == 100_000 else 1.0,
                "readings": _readings(10**8 + through * 100, 1 + place, long_turns=place // 10),
                "single_ms": [10.0, 20.0, 30.0],
            }
        )
        first = through
    said = {"sent": 10, "expected": 20, "delivered": 20, "durable_ms": {"p99": 4.0}}
    churn = {**said, "durable_ms": {"p99": 10.0}, "delivered": 19}
    churn["readings"] = [_readings(100, 0), _readings(200, 0), _readings(210, 0, 3)]
    return {
        "distinct": 100_000,
        "clients": clients,
        "subscriptions": 100_000 * clients,
        "gateways": list(GATEWAYS),
        "before": _readings(10**8, 0.0),
        "stages": stages,
        "plans_meanwhile": 0,
        "publishing": {"calm": said, "churn": churn},
        "restarts": {"coordinator": {"serves_s": 1.0, "works_s": 5.5}},
    }


def test_figures_are_per_subscription_where_it_is_known() -> None:
    found = figures(_trial(clients=10))
    assert (found["seconds"], found["per_second"]) == (12.0, round(1_000_000 / 12, 1))
    assert found["burst"] == {"profiles": 1000, "seconds": 1.0}
    assert found["late_over_early"] == 0.5
    # 100 bytes for each profile at each member: four gateways have ten subscriptions for it.
    assert found["bytes_per_subscription"] == {"gateway": 40.0, "source": 100.0, "coordinator": 100.0}
    assert found["cpu_us_per_subscription"] == {"gateway": 44.0, "source": 110.0, "coordinator": 110.0}
    assert found["single_ms"] == {"count": 3, "p50": 20.0, "p99": 29.8, "max": 30.0}
    assert (found["waited_over_cpu"], found["waited_over_cpu_in_churn"]) == (0.25, None)
    assert found["turns"]["long"] == 6
    assert found["turns_in_churn"]["long"] == 18
    assert (found["churn_over_calm"], found["memory_in_churn"], found["lost"]) == (2.5, 1.05, 1)


def test_parts_that_were_not_measured_are_left_open() -> None:
    trial = {key: value for key, value in _trial().items() if key not in ("publishing", "restarts")}
    trial["figures"] = figures(trial)
    verdicts = {one["target"]: one["met"] for one in targets([trial], quick=False)}
    assert verdicts["live per second"] is True
    assert [what for what, met in verdicts.items() if met is None] == [
        what for what in verdicts if "churn" in what or "killed" in what
    ]
    report = {"populations": [trial], "peers": [], "targets": [], "churn_hz": 500.0, "machine": _MACHINE}
    page = markdown(report)
    assert "| live per second | 8,333 |" in page
    assert "churn" not in page


_MACHINE = {"processor": "one", "cores": 1, "load_average": 0.0}


def test_targets_are_judged_with_a_hundred_thousand_in_full_runs_only() -> None:
    trial = _trial()
    trial["figures"] = figures(trial)
    verdicts = {one["target"]: one["met"] for one in targets([trial], quick=False)}
    assert verdicts["seconds until 1,000 at once are live"] is True
    assert verdicts["live per second"] is True
    assert verdicts["rate from 90,000 on over that from 10,000 on"] is False
    assert verdicts["turns above 20 ms while it is loaded"] is False
    assert verdicts["churn: memory of all members, second half over first"] is False
    assert verdicts["coordinator killed: seconds until one more is live"] is False
    assert None not in verdicts.values()
    assert {one["met"] for one in targets([trial], quick=True)} == {None}
    smaller = {**trial, "distinct": 10_000}
    assert [one["met"] for one in targets([smaller], quick=False)] == [True] + [None] * (len(verdicts) - 1)


def test_a_spread_of_nothing_says_so() -> None:
    assert spread([]) == {"count": 0, "p50": None, "p99": None, "max": None}


def test_peers_are_asked_as_their_protocols_say() -> None:
    assert _nats_chunk(["a.b", "c"], 7) == b"SUB a.b 8\r\nSUB c 9\r\nPING\r\n"
    assert _mqtt_chunk(["a.b"], 65534) == b"\x82\x08\xff\xff\x00\x03a/b\x00"
    assert _mqtt_chunk(["a.b"], 65535)[2:4] == b"\x00\x01"  # there is no packet 0


@pytest.mark.parametrize("piece", [1, 4, 100])
def test_answers_of_peers_are_waited_for_however_they_are_cut(piece: int) -> None:
    for wait, answer in (
        (_ponged, b"PING\r\nPONG\r\n"),
        (_acknowledged, b"\x90\x03\x00\x01\x00\x90\x03\x00\x02\x00"),
    ):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            waiting = threading.Thread(target=wait, args=(ours, 2), daemon=True)
            waiting.start()
            for first in range(0, len(answer) - 1, piece):
                theirs.sendall(answer[first : min(first + piece, len(answer) - 1)])
            waiting.join(0.05)
            assert waiting.is_alive()
            theirs.sendall(answer[-1:])
            waiting.join(10)
            assert not waiting.is_alive()


def test_a_peer_that_hangs_up_is_an_error() -> None:
    for wait in (_ponged, _acknowledged):
        ours, theirs = socket.socketpair()
        theirs.close()
        with ours, pytest.raises(SemcastError, match="does not take more subscriptions"):
            wait(ours, 1)
