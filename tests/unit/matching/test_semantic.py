"""Semantic matching: packets and descriptors, the thesis' figures, what cannot be read, tables of ranges and places."""

from __future__ import annotations

import pickle
from random import Random

import pyarrow as pa
import pytest

import semcast
from semcast.matching.semantic import ENGINES, SemanticMatcher
from semcast.matching.semantic.descriptors import MAX_DEPTH, MAX_NODES
from semcast.matching.semantic.tables import Grid, RangeTable
from semcast.profiles.semantic.syntax import Distance, Range
from semcast.profiles.semantic.values import BOTTOM, TOP, Cut, distance_km
from tests.unit.profiles import thesis
from tests.unit.profiles.thesis import correction, figure_3_4

language = semcast.language("semantic")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def matched(engine: str, profiles: list[str], payloads: list[str]) -> list[list[int]]:
    matcher = language.matcher([language.parse(text) for text in profiles], engine=engine)
    matches = matcher.match(pa.table({"payload": payloads}))
    return [matches.of(row).tolist() for row in range(len(payloads))]


def test_figure_3_4_attracts_the_packet_of_figure_3_2_from_near(engine: str) -> None:
    """The figures' places are 33.6 miles apart: as printed, with 10 miles, the profile does not take the packet."""
    profiles = [figure_3_4(), figure_3_4(33), figure_3_4(34), figure_3_4(54, "km"), figure_3_4(55, "km")]
    assert matched(engine, profiles, [thesis.FIGURE_3_2, thesis.FIGURE_3_3]) == [[2, 4], [2, 4]]


def test_figure_3_4_wants_two_kinds_of_music(engine: str) -> None:
    others = [thesis.FIGURE_3_2.replace("Jazz", genre) for genre in ("Rock", "Pop", "jazz", "Jazz ")]
    assert matched(engine, [figure_3_4(40)], others) == [[0], [], [], [0]]


def test_the_namespace_is_part_of_the_name(engine: str) -> None:
    """As printed, Figure 3.4 speaks of another schema than Figure 3.2."""
    printed = figure_3_4(40, concert="http://schema.SemanticRouting.net/concert/1.0")
    assert matched(engine, [printed], [thesis.FIGURE_3_2]) == [[]]


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (correction("2", "24"), True),
        (correction("2", "24", "24001"), True),
        (correction("6", "67", "67888"), True),
        (correction("6", "67", "67889"), False),
        (correction("6", "24"), False),
        (correction("2", "67", "67888"), False),
        (correction("6", "67"), False),
        (correction("6"), False),
        (correction("2", "24", space="urn:other"), False),
    ],
)
def test_figure_5_2_takes_its_subregion_and_its_chart(engine: str, given: str, taken: bool) -> None:
    assert matched(engine, [thesis.FIGURE_5_2], [given]) == [[0] if taken else []]


def test_conditions_below_one_node_are_about_one_node(engine: str) -> None:
    """Region 2 has subregion 67 and region 6 has 24: each number is there, but not where Figure 5.2 wants it."""
    regions = "".join(
        f"<m:region><m:id>{region}</m:id><m:subregion><m:id>{subregion}</m:id></m:subregion></m:region>"
        for region, subregion in (("2", "67"), ("6", "24"))
    )
    crossed = correction("REGION").replace("<m:region><m:id>REGION</m:id></m:region>", regions)
    assert crossed.count("<m:region>") == 2
    straight = crossed.replace("67", "24")
    assert matched(engine, [thesis.FIGURE_5_2], [crossed, straight]) == [[], [0]]


def test_text_is_compared_without_its_layout(engine: str) -> None:
    wrapped = thesis.FIGURE_3_2.replace("New Brunswick", "\n  New\n  Brunswick <!-- NJ --> ")
    profile = f"prefix d <{thesis.CONCERT}>; d:Locale {{d:City = New Brunswick}}"
    assert matched(engine, [profile], [wrapped]) == [[0]]


def test_attributes_are_nodes(engine: str) -> None:
    profiles = [
        f"prefix d <{thesis.CONCERT}>; d:Locale {{d:Position {{latitude > 40 < 41}}}}",
        f"prefix d <{thesis.CONCERT}>; d:Locale {{d:Position {{d:latitude}}}}",
    ]
    assert matched(engine, profiles, [thesis.FIGURE_3_2]) == [[0]]


def test_denials_are_looked_at_where_nothing_else_is(engine: str) -> None:
    profiles = ["not {a}", "a {not {b}}", "a; not {c}", "or {a; not {c}}", "not {a {not {b}}}"]
    ns = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
    payloads = [f"<rdf:Description {ns}>{body}</rdf:Description>" for body in ("", "<a/>", "<a><b/></a>", "<a/><c/>")]
    assert matched(engine, profiles, payloads) == [[0, 3, 4], [1, 2, 3], [2, 3, 4], [1, 3]]


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ("<broken", "not well-formed"),
        ("<news/>", "no content descriptor"),
        ("<Packet xmlns='urn:other'/>", "no content descriptor"),
        ("<Packet><Content-Descriptor/></Packet>", "no content descriptor"),
        ("<!DOCTYPE a [<!ENTITY e 'x'>]>" + thesis.FIGURE_3_2.replace("Jazz", "&e;"), "declares or needs entities"),
        (thesis.FIGURE_3_2.replace("Jazz", "<d:a/>" * MAX_NODES), "too large"),
        (thesis.FIGURE_3_2.replace("Jazz", "<d:a>" * MAX_DEPTH + "</d:a>" * MAX_DEPTH), "too deep"),
    ],
)
def test_what_cannot_be_read_matches_nothing_and_is_told(engine: str, payload: str, why: str) -> None:
    matcher = language.matcher([language.parse("anything")], engine=engine)
    assert isinstance(matcher, SemanticMatcher)
    found = matcher.read(pa.table({"payload": [thesis.FIGURE_3_2, payload, None]}))
    assert found.matches.pairs().tolist() == [[0, 0]]
    assert list(found.unreadable) == [1]
    assert found.unreadable[1].startswith(why)
    assert (found.missing, matcher.missing, matcher.unreadable) == (1, 1, 1)


def test_a_batch_without_payloads_matches_nothing(engine: str) -> None:
    matcher = language.matcher([language.parse("anything")], engine=engine)
    assert matcher.match(pa.table({"x": [1, 2]})).pairs().tolist() == []
    assert matcher.match(pa.table({"payload": [1, 2]})).pairs().tolist() == []


def test_a_matcher_travels(engine: str) -> None:
    matcher = language.matcher([language.parse(thesis.FIGURE_5_2)], engine=engine)
    again = pickle.loads(pickle.dumps(matcher))
    assert again.match(pa.table({"payload": [correction("2", "24")]})).pairs().tolist() == [[0, 0]]
    assert again.add(language.parse("anything")) == 1


def test_a_range_table_equals_testing_each_range() -> None:
    random = Random(7)
    cuts: list[Cut] = [(float(random.randrange(60)), random.randrange(2)) for _ in range(600)] + [BOTTOM, TOP]
    drawn = [sorted(random.sample(cuts, 2)) for _ in range(500)]
    ranges = [(Range(low, high), number) for number, (low, high) in enumerate(drawn) if low < high]
    for kept in (ranges, ranges[:5], ranges[:1]):
        table = RangeTable(kept)
        for value in (*range(-1, 61), 0.5, 17.5, 1e9):
            expected = [number for item, number in kept if item.low < (value, 0.5) < item.high]
            assert sorted(table.holding(float(value))) == expected


def test_a_grid_equals_testing_each_disc() -> None:
    random = Random(11)

    def place() -> tuple[float, float]:
        polar = random.random() < 0.2
        north = random.choice([-1, 1]) * random.uniform(85, 90) if polar else random.uniform(-90, 90)
        return north, random.choice([random.uniform(-180, 180), random.uniform(179, 180), random.uniform(-180, -179)])

    discs = [
        (Distance(random.choice([0.0, 0.1, 3.0, 50.0, 400.0, 3000.0, 10_000.0, 25_000.0]), *place()), number)
        for number in range(400)
    ]
    grid = Grid(discs)
    centres = [(disc.latitude, disc.longitude) for disc, _ in discs]
    found = 0
    for at in [*(place() for _ in range(400)), *centres, (90.0, 0.0), (-90.0, 180.0), (0.0, 180.0), (0.0, -180.0)]:
        expected = [
            number
            for disc, number in discs
            if (far := distance_km(*at, disc.latitude, disc.longitude)) is not None and far <= disc.within_km
        ]
        assert sorted(grid.holding(at)) == expected
        found += len(expected)
    assert found > 10_000


def test_a_disc_is_kept_in_few_cells() -> None:
    for radius in (0.0, 1.0, 100.0, 5000.0, 20_000.0):
        for latitude in (-90.0, 0.0, 60.0, 89.5):
            grid = Grid([(Distance(radius, latitude, 179.5), 0)])
            (level,) = grid._levels.values()
            assert len(level) <= 40
