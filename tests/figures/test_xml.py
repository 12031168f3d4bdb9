"""Documents and profiles for experiments: of the wanted size and shape, the same for the same seed."""

from __future__ import annotations

import re
from itertools import islice

import numpy as np
import pytest
from lxml import etree

import semcast
from semcast.demo.xml import DocumentGenerator, ProfileGenerator, Schema, Shape, XmlWorkload
from semcast.demo.xml import workload as workload_
from semcast.demo.xml.schema import Element, some
from semcast.demo.xml.values import Choice, Number
from semcast.demo.xml.workload import shares_of
from semcast_experiments.workloads.xml import SCHEMAS

language = semcast.language("xpath")


@pytest.fixture(autouse=True)
def _small_pilot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workload_, "_PILOT", 500)


@pytest.fixture(params=SCHEMAS.values(), ids=SCHEMAS)
def schema(request: pytest.FixtureRequest) -> Schema:
    found: Schema = request.param
    return found


def drawn(schema: Schema, count: int, shape: Shape, seed: int = 1) -> list[str]:
    return list(islice(ProfileGenerator(schema, shape).profiles(np.random.default_rng(seed)), count))


def test_a_schema_knows_all_its_elements_and_ends(schema: Schema) -> None:
    children = {child.name for element in schema.elements.values() for child in element.children}
    assert children | {schema.root} == set(schema.elements)
    assert schema.expected(0.0, 1) < 100  # what must be there is finite


@pytest.mark.parametrize("elements", [70, 100, 300])
def test_documents_have_as_many_elements_as_asked_for(schema: Schema, elements: int) -> None:
    generator, random = DocumentGenerator(schema, elements), np.random.default_rng(1)
    roots = [etree.fromstring(generator.document(random)) for _ in range(200)]
    mean = float(np.mean([sum(1 for _ in root.iter()) for root in roots]))
    assert mean == pytest.approx(elements, rel=0.15)
    assert len({generator.document(random) for _ in range(20)}) == 20


def test_documents_are_as_the_schema_says(schema: Schema) -> None:
    root = etree.fromstring(DocumentGenerator(schema).document(np.random.default_rng(2)))
    for element in root.iter():
        declared = schema.elements[element.tag]
        assert set(element.attrib) <= {attribute.name for attribute in declared.attributes}
        counts = {child.name: len(element.findall(child.name)) for child in declared.children}
        assert all(counts[child.name] >= child.least for child in declared.children)
        assert all(counts[child.name] <= 1 for child in declared.children if child.once)
        assert sum(counts.values()) == len(element)


def test_recursive_elements_do_recur_and_end() -> None:
    schema = Schema("r", "a", {"a": Element(some(3.0, "a"))})
    root = etree.fromstring(DocumentGenerator(schema, 50, max_depth=5).document(np.random.default_rng(1)))
    assert 3 <= max(len(list(element.iterancestors())) for element in root.iter()) + 1 <= 5


def test_the_same_seed_gives_the_same_workload(schema: Schema) -> None:
    workload = XmlWorkload(schema)
    sample = workload.documents(30, 1)
    assert sample == workload.documents(30, 1) != workload.documents(30, 2)
    profiles = workload.profiles(50, sample, 1)
    assert profiles == workload.profiles(50, sample, 1) != workload.profiles(50, sample, 2)


@pytest.mark.parametrize("wildcard", [0.0, 0.3, 1.0])
def test_wildcards_come_as_often_as_asked_for(schema: Schema, wildcard: float) -> None:
    generator = ProfileGenerator(schema, Shape(wildcard=wildcard, descendant=0.0, predicates=0, nested=0))
    random = np.random.default_rng(1)
    steps = [step for _ in range(500) for step in generator.profile(random).strip("/").split("/")]
    assert steps.count("*") / len(steps) == pytest.approx(wildcard, abs=0.05)


@pytest.mark.parametrize("descendant", [0.0, 0.4, 1.0])
def test_descendant_steps_come_as_often_as_asked_for(schema: Schema, descendant: float) -> None:
    generator = ProfileGenerator(schema, Shape(wildcard=0.0, descendant=descendant, predicates=0, nested=0))
    random = np.random.default_rng(1)
    slashes = [slash for _ in range(500) for slash in re.findall("/+", generator.profile(random))]
    assert slashes.count("//") / len(slashes) == pytest.approx(descendant, abs=0.05)


def test_paths_are_as_long_and_have_as_many_predicates_as_asked_for(schema: Schema) -> None:
    shape = Shape(min_depth=3, max_depth=5, descendant=0.0, predicates=1, nested=0)
    texts = drawn(schema, 300, shape)
    lengths = [len(re.sub(r"\[.*?\]", "", text).strip("/").split("/")) for text in texts]
    assert set(lengths) == {3, 4, 5}
    assert {text.count("[") for text in texts} == {1}
    nested = drawn(schema, 100, Shape(predicates=0, nested=1, nested_value=0.0))
    assert {text.count("[") for text in nested} == {1}
    assert not any(set("=<>(") & set(text) for text in nested)


def test_only_operators_that_were_asked_for_are_used(schema: Schema) -> None:
    texts = drawn(schema, 200, Shape(nested=0, operators={"=": 1.0, ">": 1.0}))
    assert not any(word in text for text in texts for word in ("!=", "<", ">=", "contains", "starts-with"))
    assert any(">" in text for text in texts)


def test_profiles_are_distinct_unless_repetition_is_wanted() -> None:
    schema = Schema("s", "a", {"a": Element(some(1.0, "b")), "b": Element()})
    shape = Shape(min_depth=1, max_depth=2, predicates=0, nested=0, wildcard=0.0, descendant=0.0)
    generator = ProfileGenerator(schema, shape)
    assert len(list(islice(generator.profiles(np.random.default_rng(1), distinct=False), 50))) == 50
    with pytest.raises(ValueError, match="hardly more than 2 distinct"):
        list(islice(generator.profiles(np.random.default_rng(1)), 50))


@pytest.mark.parametrize("share", [0.015, 0.1])
def test_profiles_match_as_many_documents_as_asked_for(schema: Schema, share: float) -> None:
    workload = XmlWorkload(schema, share=share)
    profiles = workload.profiles(400, workload.documents(80, 1), 1)
    assert len(set(profiles)) == 400
    assert float(shares_of(profiles, workload.documents(50, 2)).mean()) == pytest.approx(share, rel=0.4)


def test_profiles_can_be_added_that_match_nothing(schema: Schema) -> None:
    workload = XmlWorkload(schema)
    documents = workload.documents(40, 1)
    few = workload.profiles(50, documents, 1)
    many = workload.more(few, 400, documents, 1)
    assert many[:50] == few
    assert len(set(many)) == 400
    matched = shares_of(many, documents)
    assert matched[:50].any()
    assert not matched[50:].any()


def test_choices_are_skewed_and_numbers_stay_in_their_range() -> None:
    random = np.random.default_rng(1)
    texts = [Choice("a b c d", 1.0).text(random) for _ in range(2000)]
    assert texts.count("a") / len(texts) == pytest.approx(1 / (1 + 1 / 2 + 1 / 3 + 1 / 4), abs=0.04)
    for number in (Number(0, 9), Number(1.5, 60, 2, skewed=True)):
        values = [float(number.text(random)) for _ in range(500)]
        assert number.low <= min(values)
        assert max(values) <= number.high
