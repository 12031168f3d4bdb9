"""Laws of channelization: exact statistics, expressions that mean what they say, and no false exclusions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semcast.channels import expressions as ex
from semcast.channels.channelize import SCHEMES, Channelized, Settings, channelize
from semcast.channels.merging import Rates
from semcast.channels.overlap import Overlap, Sums, blocks, overlap, overlap_block, ranges_of
from semcast.channels.selectivity import Selectivity
from semcast.channels.spans import gateways_of, places_of
from semcast.model.bits import bits
from tests.laws.channel_worlds import expressions, matches_of


class Sampled(NamedTuple):
    profiles: int
    matched: list[set[int]]
    selectivity: Selectivity


@st.composite
def samples(draw: st.DrawFn, max_profiles: int = 8) -> Sampled:
    profiles = draw(st.integers(1, max_profiles))
    sets = st.sets(st.integers(0, profiles - 1))
    matched = draw(st.lists(sets, max_size=12)) * draw(st.sampled_from([1, 1, 7]))
    weights = draw(st.lists(st.floats(0.01, 4), min_size=len(matched), max_size=len(matched)))
    return Sampled(profiles, matched, Selectivity(matches_of(matched), profiles, np.array(weights, np.float64)))


@given(samples())
def test_the_overlap_matrix_equals_a_naive_one(sample: Sampled) -> None:
    found = overlap(sample.selectivity).matrix()
    for i in range(sample.profiles):
        mine = [m for m, matched in enumerate(sample.matched) if i in matched]
        whole = sum(sample.selectivity.weights[m] for m in mine)
        for j in range(sample.profiles):
            both = sum(sample.selectivity.weights[m] for m in mine if j in sample.matched[m])
            assert found[i, j] == pytest.approx(both / whole if whole else 0)


@given(samples(), st.integers(1, 5))
def test_blocks_put_together_are_the_whole_matrix(sample: Sampled, count: int) -> None:
    ranges = blocks(sample.selectivity, count)
    assert [p for first, last in ranges for p in range(first, last)] == list(range(sample.profiles))
    parts = [overlap_block(sample.selectivity, *part) for part in ranges]
    assert Overlap.of(parts[::-1]).matrix().tolist() == overlap(sample.selectivity).matrix().tolist()


@given(sample=samples(), least=st.sampled_from([0.0, 0.4, 1.0]), cut=st.integers(0, 10), most=st.integers(1, 5))
def test_rows_that_are_added_up_part_by_part_are_those_of_all_messages(
    sample: Sampled, least: float, cut: int, most: int
) -> None:
    whole = sample.selectivity
    work = np.ones(whole.profiles, np.int64)
    found = []
    for first, last in ranges_of(work, 2, most):
        assert last - first <= most
        sums = Sums.of(first, last, whole.profiles)
        for rows in (np.arange(whole.messages)[:cut], np.arange(whole.messages)[cut:]):
            sums.add(whole.matches.taken(rows), whole.weights[rows])
        found.append(sums.block(whole.counts, least))
    one, other = Overlap.of(found), overlap(whole, least)
    assert one.indptr.tolist() == other.indptr.tolist()
    assert one.others.tolist() == other.others.tolist()
    assert one.counts.tolist() == other.counts.tolist()
    assert np.allclose(one.shares, other.shares)


@given(samples(), st.floats(0, 1))
def test_a_sparse_matrix_keeps_what_is_above_its_threshold_and_all_containment(sample: Sampled, least: float) -> None:
    full, sparse = overlap(sample.selectivity).matrix(), overlap(sample.selectivity, least).matrix()
    keeps = (full >= least + 1e-9) | (full == 1) | (full.T == 1)
    assert (sparse[keeps] == full[keeps]).all()
    assert ((sparse == full) | (sparse == 0)).all()


@given(expressions())
def test_an_expression_is_read_back_as_it_was_written(expression: ex.Expression) -> None:
    names = ["p1", "a|b", 'q"', "true", "x y", "é"]
    written = ex.text(expression, names.__getitem__)
    numbers = {name: number for number, name in enumerate(names)}
    again = ex.parse(written, numbers)
    for matched in range(64):
        held = {p for p in range(6) if matched >> p & 1}
        assert ex.holds(again, held) == ex.holds(expression, held)
    assert ex.text(again, names.__getitem__) == written


@given(st.lists(expressions(), max_size=4), st.booleans())
def test_simplifying_changes_no_meaning(parts: list[ex.Expression], any_of: bool) -> None:
    joined = ex.disjunction(parts) if any_of else ex.conjunction(parts)
    for matched in range(64):
        held = {p for p in range(6) if matched >> p & 1}
        each = [ex.holds(part, held) for part in parts]
        assert ex.holds(joined, held) == (any(each) if any_of else all(each))


@given(expressions(), st.lists(st.sets(st.integers(0, 5)), max_size=70))
def test_many_messages_at_once_give_what_each_gives(expression: ex.Expression, messages: list[set[int]]) -> None:
    words = (len(messages) + 63) // 64
    rows = np.zeros((7, words), np.uint64)
    for m, matched in enumerate(messages):
        for p in (*matched, 6):
            rows[p, m // 64] |= np.uint64(1) << np.uint64(m % 64)
    found = ex.evaluated(expression, rows.__getitem__, rows[6])
    held = [bool(found[m // 64] >> np.uint64(m % 64) & np.uint64(1)) for m in range(len(messages))]
    assert held == [ex.holds(expression, matched) for matched in messages]


@pytest.mark.parametrize("scheme", SCHEMES)
@given(data=st.data())
def test_no_false_exclusions_whatever_the_statistics_say(scheme: str, data: st.DataObject) -> None:
    """Messages are drawn apart from the sample, so the sample may be wrong about all of them."""
    sample = data.draw(samples())
    gateways = data.draw(st.lists(st.integers(1, 63), min_size=sample.profiles, max_size=sample.profiles))
    settings = Settings(
        max_merges=data.draw(st.sampled_from([0, 1, 100])),
        threshold=data.draw(st.sampled_from([None, 0.0, 0.5])),
        max_noise=data.draw(st.sampled_from([0.1, 1.0])),
    )
    made = channelize(scheme, sample.selectivity, gateways, _span, settings=settings)
    for channel, profiles in zip(made.channels, made.profiles, strict=True):
        assert channel.gateways == gateways_of(g for p in profiles for g in places_of(gateways[p]))
    for matched in [*sample.matched, *data.draw(st.lists(st.sets(st.integers(0, sample.profiles - 1)), max_size=8))]:
        carrying = [c for c, channel in enumerate(made.channels) if ex.holds(channel.expression, matched)]
        for profile in matched:
            assert any(profile in made.profiles[c] for c in carrying)


@pytest.mark.parametrize("scheme", SCHEMES)
@given(data=st.data())
def test_channels_carry_in_the_window_what_their_expressions_say(scheme: str, data: st.DataObject) -> None:
    sample = data.draw(samples())
    gateways = data.draw(st.lists(st.integers(1, 63), min_size=sample.profiles, max_size=sample.profiles))
    made = channelize(scheme, sample.selectivity, gateways, _span)
    assert len({ex.text(channel.expression, str) for channel in made.channels}) == len(made.channels)
    for channel in made.channels:
        held = [m for m, matched in enumerate(sample.matched) if ex.holds(channel.expression, matched)]
        assert held == [m for m in range(len(sample.matched)) if int(channel.row[m // 64]) >> (m % 64) & 1]
        expected = sum(sample.selectivity.weights[m] for m in held) / (sample.selectivity.total or 1)
        assert channel.rate == pytest.approx(expected)


@given(data=st.data())
def test_merging_never_makes_the_estimate_worse(data: st.DataObject) -> None:
    sample = data.draw(samples())
    gateways = data.draw(st.lists(st.integers(1, 63), min_size=sample.profiles, max_size=sample.profiles))
    before = channelize("semcast", sample.selectivity, gateways, _span, settings=Settings(max_merges=0))
    for scheme in ("semcast", "semcast-merge", "semcast-noisemerge"):
        after = channelize(scheme, sample.selectivity, gateways, _span)
        assert after.estimate <= before.estimate + 1e-9


def test_the_printed_intersection_of_gateways_loses_deliveries() -> None:
    matched: list[set[int]] = [{0, 1}, {0, 1}, {0}, {1}]
    selectivity = Selectivity.of(matches_of(matched), 2)
    made = channelize("semcast", selectivity, [1, 2], lambda g, _: 5.0 * bool(g), settings=Settings(literal_cap=True))
    assert made.merges == 1
    reached = 0
    for channel in made.channels:
        if ex.holds(channel.expression, {0, 1}):
            reached |= channel.gateways
    assert reached == 0, "neither gateway gets the message that both want"


def _span(gateways: int, root: int) -> float:
    """A tree that grows with its set, less than in proportion."""
    return 0.0 if not gateways else 2.0 + gateways.bit_count() + root % 2


@given(sample=samples(), even=st.sampled_from([None, 0.3, 1.0]), data=st.data())
def test_a_row_counts_what_its_messages_do_whether_all_count_alike_or_not(
    sample: Sampled, even: float | None, data: st.DataObject
) -> None:
    weights = sample.selectivity.weights if even is None else np.full(len(sample.matched), even)
    chosen = st.sets(st.integers(0, max(0, len(sample.matched) - 1))) if sample.matched else st.just(set())
    first, second = data.draw(chosen), data.draw(chosen)
    pairs = [(row, m) for row, held in enumerate((first, second)) for m in held]
    rows = bits(2, len(sample.matched), *np.array(pairs, np.int64).reshape(-1, 2).T)
    rates = Rates(weights)
    total = weights.sum() or 1.0
    assert rates.of(rows[0]) == pytest.approx(sum(weights[m] for m in first) / total)
    shared = rates.shared(rows, np.array([1, 0]), rows[0])
    expected = [sum(weights[m] for m in first & second) / total, rates.of(rows[0])]
    assert shared.tolist() == pytest.approx(expected)


@given(samples(), st.integers(1, 4), st.data())
def test_a_message_matches_a_group_if_it_matches_any_profile_of_it(
    sample: Sampled, groups: int, data: st.DataObject
) -> None:
    group = data.draw(st.lists(st.integers(0, groups - 1), min_size=sample.profiles, max_size=sample.profiles))
    found = sample.selectivity.grouped(np.array(group, np.int64), groups)
    assert found.profiles == groups
    for row, matched in enumerate(sample.matched):
        assert found.matches.of(row).tolist() == sorted({group[profile] for profile in matched})


@given(samples(), st.data())
def test_thresholds_tried_together_give_what_the_chosen_one_gives_by_itself(
    sample: Sampled, data: st.DataObject
) -> None:
    gateways = data.draw(st.lists(st.integers(1, 7), min_size=sample.profiles, max_size=sample.profiles))

    def made(threshold: float | None) -> Channelized:
        settings = Settings(threshold=threshold)
        return channelize("semcast-threshold", sample.selectivity, gateways, _span, settings=settings)

    best = made(None)
    assert best.threshold is not None
    alone = made(best.threshold)
    assert (best.profiles, best.merges, best.estimate) == (alone.profiles, alone.merges, alone.estimate)
    assert best.estimate <= made(0.3).estimate


@given(samples(), st.data(), st.floats(0, 0.66), st.floats(0, 0.66))
def test_below_two_thirds_a_threshold_decides_only_where_it_stands_alone(
    sample: Sampled, data: st.DataObject, one: float, other: float
) -> None:
    gateways = data.draw(st.lists(st.integers(1, 7), min_size=sample.profiles, max_size=sample.profiles))

    def made(threshold: float, **more: float) -> Channelized:
        settings = Settings(threshold=threshold, **more)
        return channelize("semcast-threshold", sample.selectivity, gateways, _span, settings=settings)

    assert made(one).profiles == made(other).profiles
    low, high = sorted((one, other))
    assert made(low, max_noise=1.0).merges >= made(high, max_noise=1.0).merges >= made(high).merges
