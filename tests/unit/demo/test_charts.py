"""The generator of chart corrections: what it draws, and from what."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from semcast.demo.charts import Charts, descriptor, interest, packet
from semcast.matching.semantic import descriptor as read
from semcast.matching.semantic import evaluate
from semcast.model import SemcastError
from semcast.profiles.semantic import Node
from semcast_experiments.figures.semantic.fits import line


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_charts_lie_in_subregions_of_regions() -> None:
    every = Charts(regions=2, subregions=3, charts=4).every
    assert len(every) == 24
    assert every[0] == "10000"
    assert every[-1] == "22003"
    with pytest.raises(SemcastError, match="1 to 9 regions"):
        Charts(regions=10)


def test_an_interest_matches_the_corrections_of_its_places() -> None:
    asked = interest(["24", "67888", "9"])
    for chart, wanted in (("24001", True), ("67888", True), ("67889", False), ("95000", True), ("25001", False)):
        for payload in (descriptor(chart).encode(), packet(chart, b"<not-read")):
            root = read(payload if payload.startswith(b"<rdf") else packet(chart, b"text"))
            assert isinstance(root, Node)
            assert evaluate(asked, root) is wanted


def test_packets_can_be_read_and_payloads_vary() -> None:
    packets = list(Charts(payload_bytes=(500, 1.0)).packets(50, rng()))
    assert all(isinstance(read(each), Node) for each in packets)
    assert len({len(each) for each in packets}) > 20


def test_skew_makes_some_charts_frequent() -> None:
    flat, steep = (Counter(Charts(packet_skew=skew).corrections(3000, rng())) for skew in (0.0, 1.2))
    assert flat.most_common(1)[0][1] < 10
    assert steep.most_common(1)[0][1] > 200


def test_interests_ask_at_the_levels_they_are_told_to() -> None:
    places = Charts(wants=4, levels=(0.5, 0.5, 0.0)).places(400, rng())
    lengths = Counter(len(place) for asked in places for place in asked)
    assert set(lengths) == {1, 2}
    assert 0.3 < lengths[1] / lengths.total() < 0.6
    assert 3 < np.mean([len(asked) for asked in places]) < 4.2


def test_the_same_seed_draws_the_same() -> None:
    charts = Charts()
    assert charts.interests(20, rng(4)) == charts.interests(20, rng(4))
    assert list(charts.packets(5, rng(4))) == list(charts.packets(5, rng(4)))
    assert charts.interests(20, rng(4)) != charts.interests(20, rng(5))


def test_a_line_has_the_errors_of_its_coefficients() -> None:
    exact = line([1, 2, 3, 4], [3, 5, 7, 9])
    assert exact[:4] == pytest.approx((2, 0, 1, 0), abs=1e-9)
    assert exact(10) == pytest.approx(21)
    noise = rng().normal(0, 1, 400)
    x = np.linspace(0, 10, 400)
    found = line(x.tolist(), (0.5 * x + 2 + noise).tolist())
    assert abs(found.slope - 0.5) < 3 * found.slope_error < 0.1
    assert abs(found.start - 2) < 3 * found.start_error < 0.5
    assert 0.5 < found.explained < 0.8
