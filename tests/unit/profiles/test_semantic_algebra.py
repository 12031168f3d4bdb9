"""The algebra of interest profiles by example: union, absorption, leakage, selectivity, affinity."""

from __future__ import annotations

import math

import numpy as np
import pytest

import semcast
from semcast.demo.charts import Charts, interest
from semcast.matching.semantic import Prefilter, descriptor
from semcast.profiles.semantic import (
    Distribution,
    Expression,
    InterestProfile,
    Node,
    affinity,
    aggregate,
    algebra,
    implies,
    nodes_needed,
    selectivity,
    simplify,
    size,
    truncate,
)
from semcast.profiles.semantic.algebra import measured
from semcast.profiles.semantic.syntax import And
from tests.unit.profiles.thesis import FIGURE_5_2, MAP, correction

language = semcast.language("semantic")


def of(text: str) -> Expression:
    found: Expression = language.parse(text).expression
    return found


def shown(expression: Expression) -> str:
    return str(InterestProfile.of(expression))


@pytest.mark.parametrize(
    ("written", "simple"),
    [
        ("or {a; and {a; b}}", "a"),
        ("a; or {a; b}", "a"),
        ("or {and {a; b}; and {a; c}}", "a; or {b; c}"),
        ("or {a {b; c}; a {b}}", "a {b}"),
        ("or {a = x; a}", "a"),
        ("a; a = x", 'a = "x"'),
        (
            "or {a {b = 1; c = 2}; a {b = 1; c = 3}; a {b = 2; c = 3}}",
            'a {or {and {b = "1"; c = "2" | "3"}; and {b = "2"; c = "3"}}}',
        ),
        ("or {a within 5 km of 0 0; a within 50 km of 0.1 0.1}", "a within 50.0 km of 0.1, 0.1"),
        ("or {not {a}; not {a = x}}", 'not {a = "x"}'),
        ("a {b; not {number}; > 3}", "RDF {nothing}"),
        ("or {a {b}; a {b {c}}; a {b {d}}}", "a {b}"),
    ],
)
def test_what_is_covered_vanishes_and_what_is_shared_is_said_once(written: str, simple: str) -> None:
    assert shown(simplify(of(written))) == simple


def test_an_interest_in_a_region_absorbs_its_charts() -> None:
    some = [interest([place]) for place in ("67888", "67123", "67", "24", "68001")]
    assert aggregate(some) == aggregate([interest(["24", "67", "68001"])])
    assert aggregate([*some, interest(["6"])]) == aggregate([interest(["24", "6"])])


def test_figure_5_2_is_the_union_of_its_two_places() -> None:
    assert aggregate([interest(["24"]), interest(["67888"])]) == simplify(of(FIGURE_5_2))


def test_an_aggregate_of_many_is_smaller_than_their_sum() -> None:
    drawn = [each.expression for each in Charts().interests(500, np.random.default_rng(3))]
    assert size(aggregate(drawn)) * 10 < sum(map(size, drawn))


def test_truncation_makes_the_covering_parent_a_leaf() -> None:
    asked = of(FIGURE_5_2)
    head = f"prefix a <{MAP}>; a:map"
    assert shown(truncate(asked, 0)) == "anything"
    assert shown(truncate(asked, 1)) == head
    assert shown(truncate(asked, 3)) == f"{head} {{a:chart_correction {{a:region}}}}"
    assert shown(truncate(asked, 4)) == f'{head} {{a:chart_correction {{a:region {{a:id = "2" | "6"; a:subregion}}}}}}'
    assert truncate(asked, 6) == simplify(asked)


def test_truncation_below_a_denial_lets_through_too() -> None:
    assert shown(truncate(of("a {not {b {c}}}"), 2)) == "a"
    assert shown(truncate(of("not {a {b}}"), 1)) == "anything"
    assert shown(truncate(of("not {a}"), 1)) == "not {a}"


def test_a_prefilter_names_the_ports_that_are_left() -> None:
    ports = {1: interest(["24"]), 2: interest(["67888"]), 3: interest(["67"]), 4: interest(["9"])}
    packet = descriptor(correction("6", "67", "67111").encode())
    assert isinstance(packet, Node)
    found = {depth: Prefilter(ports, depth).candidates(packet) for depth in (0, 3, 4, 5, None)}
    assert found == {0: [1, 2, 3, 4], 3: [1, 2, 3, 4], 4: [2, 3], 5: [2, 3], None: [3]}


COLOURS = ("red", "orange", "yellow", "green", "blue", "purple")
UNIFORM = Distribution.declared({("temperature",): (0.0, 100.0), ("colour",): COLOURS, ("x",): ("0", "1")})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("flag", 2),
        ("flag; other", 4),
        ("temperature > 90", 10),
        ("temperature > 90; temperature {< 10}", 100),
        ("colour = red", 6),
        ("colour = red | blue", 3),
        ("colour = red; temperature > 90", 60),
        ("colour = brown", math.inf),
        ("not {temperature > 90}", 1 / 0.9),
        ("anything", 1),
    ],
)
def test_selectivity_of_uniform_values_is_the_thesis_own(text: str, expected: float) -> None:
    """§5.1: binary nodes 2, a tenth of a range 10, one of six colours 6, and products."""
    assert selectivity(of(text), UNIFORM) == pytest.approx(expected)


def test_selectivity_of_a_sample_follows_its_values() -> None:
    """§5.1: with half of the values red, the selectivity of red is 2 and not 6."""
    head = '<rdf:Description xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    drawn = ["red"] * 5 + list(COLOURS[1:])
    roots = [
        descriptor(f"{head}<colour>{c}</colour><n>{at}</n></rdf:Description>".encode()) for at, c in enumerate(drawn)
    ]
    sample = Distribution.sampled([root for root in roots if isinstance(root, Node)])
    assert selectivity(of("colour = red"), sample) == pytest.approx(2)
    assert selectivity(of("n >= 8"), sample) == pytest.approx(5)
    assert selectivity(of("n > 7 <= 8"), sample) == pytest.approx(10)
    assert selectivity(of("colour = red; n < 5"), sample) == pytest.approx(4)
    assert selectivity(of("size"), sample) == math.inf


def test_nodes_needed_grow_with_the_logarithm() -> None:
    assert nodes_needed(1024, [(1.0, 2)]) == pytest.approx(10)
    assert nodes_needed(10**6, [(0.5, 10), (0.5, 1000)]) == pytest.approx(3)


def test_affinity_counts_common_nodes() -> None:
    assert affinity(of("a"), of("b")) == 0
    assert affinity(of("a"), of("a = x")) == pytest.approx(1 / 2)
    assert affinity(of("a = x; b"), of("b; a = x")) == 1
    near, far = interest(["67888"]), interest(["24001"])
    assert affinity(near, interest(["67111"])) > affinity(near, interest(["61111"])) > affinity(near, far) > 0
    assert affinity(of("anything"), of("anything")) == 1


def test_measured_affinity_counts_common_packets() -> None:
    assert measured([(True, True), (True, False), (False, False), (False, True)]) == pytest.approx(1 / 3)
    assert measured([(False, False)]) == 0


def test_of_two_branches_that_cover_each_other_one_stays() -> None:
    """Simple branches never do; those that were left as they are, for their size, may."""
    short, long = of("a {c}"), And((of("a {c}"), of("a")))
    assert implies(short, long)
    assert implies(long, short)
    assert algebra._absorbed([short, long]) == [short]
    assert algebra._absorbed([long, short]) == [long]


def test_branches_without_a_value_in_common_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[Expression, Expression]] = []
    honest = algebra._covered

    def counted(narrow: Expression, wide: Expression) -> bool:
        compared.append((narrow, wide))
        return honest(narrow, wide)

    monkeypatch.setattr(algebra, "_covered", counted)
    apart = [of(f"a{number} {{b = {number}}}") for number in range(40)]
    assert algebra._absorbed(apart) == apart
    assert not compared
    below = of("a7 {b = 7; c = 1}")
    assert algebra._absorbed([*apart, below]) == apart
    assert compared == [(below, apart[7])]


def test_a_case_that_cannot_be_needs_no_proof() -> None:
    """``a`` is there, so of the alternatives only the text is left."""
    assert implies(of("a = 1; or {= 1; not {a}}"), of("= 1"))
    assert not implies(of("a = 1; or {= 1; not {b}}"), of("= 1"))
