"""The automaton of XPath: which accesses it chooses, what it keeps, tries and looks up, and what it costs."""

from __future__ import annotations

import pyarrow as pa
import pytest

import semcast
from semcast.matching.xpath import documents as xml
from semcast.matching.xpath.accesses import accesses, refutations
from semcast.matching.xpath.dfa import DfaEngine

language = semcast.language("xpath")


@pytest.mark.parametrize(
    ("text", "spines", "exact"),
    [
        ("/a/b", ["/a/b"], True),
        ("/a/b[@x = 1]", ["/a/b/@x = 1"], True),
        ("/a[b = 'x']/c > 5", ["/a/b = x"], False),
        ("/a[b and c]", ["/a/b"], False),
        ("/a or //b[c or d]", ["//b/c", "//b/d", "/a"], True),
        ("//a[not(b)]", ["//a"], False),
        ("contains(a, 'x')", ["/a contains x"], False),
        ("//a[contains(., 'x')]", ["//a contains x"], True),
        ("/a[/b = 1]", ["/b = 1"], False),
    ],
)
def test_the_rarest_access_is_chosen(text: str, spines: list[str], exact: bool) -> None:
    found = accesses(language.parse(text).expression)
    assert found is not None
    shown = []
    for access in found:
        signs = {"attribute": "@", "text": "text()", "child": ""}
        path = "".join(("//" if deep else "/") + signs[axis] + name for axis, deep, name in access.spine)
        literal = "" if access.test is None else access.test.literal
        value = literal if isinstance(literal, str) else literal.digits
        shown.append(path if access.test is None else f"{path} {access.test.operator} {value}")
    assert shown == spines
    assert all(access.exact for access in found) is exact


@pytest.mark.parametrize("text", ["not(a)", "not(a) and not(b)", "not(a) or b", "not(a and not(b)) or not(c[d])"])
def test_what_has_no_access_has_a_negation_that_has(text: str) -> None:
    expression = language.parse(text).expression
    assert accesses(expression) is None
    assert refutations(expression)


def _found(engine: DfaEngine, documents: list[str]) -> list[list[int]]:
    (read,) = map(xml.Documents, xml.payloads_of(pa.table({"payload": documents})))
    pairs: list[list[int]] = engine.match(read).pairs().tolist()
    return pairs


def test_states_are_dropped_when_they_take_too_much_room() -> None:
    names = ["a", "b", "c", "d"]
    texts = [f"//{x}/{y}//{z}/@x = {n}" for x in names for y in names for n, z in enumerate(names)]
    profiles = [language.parse(text) for text in [*texts, "//*/c", "/a//c[@x][../a or .//b]".replace("../a or ", "")]]
    documents = []
    for i in range(40):
        path = [names[(i >> k) % 4] for k in range(5)] + names[: i % 5]
        documents.append("".join(f"<{n} x='{i % 3}'>" for n in path) + "".join(f"</{n}>" for n in reversed(path)))
    bounded, roomy = DfaEngine(profiles, max_size=256), DfaEngine(profiles)
    oracle = language.matcher(profiles, engine="lxml").match(pa.table({"payload": documents})).pairs().tolist()
    assert _found(bounded, documents) == _found(roomy, documents) == oracle
    assert bounded.evictions > 5
    assert roomy.evictions == 0
    assert bounded._states.size < roomy._states.size


def test_one_document_may_drop_states_on_its_way() -> None:
    profiles = [language.parse(f"//a{i}[b]//c{i}") for i in range(60)]
    body = "".join(f"<a{i}><b/>{f'<x><c{i}/></x>' * (i % 2)}</a{i}>" for i in range(60))
    engine = DfaEngine(profiles, max_size=64)
    assert _found(engine, [f"<r>{body}</r>"]) == [[0, i] for i in range(60) if i % 2]
    assert engine.evictions > 1


def test_nested_predicates_cost_no_more_than_their_length_times_the_document() -> None:
    """libxml2 tries every way through the ``//``: 200 to the power of 12 here."""
    inner = "z"
    for _ in range(12):
        inner = f"*[.//{inner}]"
    engine = DfaEngine([language.parse(f"//{inner}"), language.parse(f"//{inner.replace('z', 'y')}")])
    assert _found(engine, ["<a>" * 180 + "<z/>" + "</a>" * 180]) == [[0, 0]]
    assert engine.verified <= 2
    assert engine.steps < 3 * 13 * 181


@pytest.mark.parametrize("text", ["x" * 500_000, "1" * 500_000, " " * 500_000, "0" * 500_000, "0." + "0" * 500_000])
def test_the_text_of_nested_elements_is_not_read_for_each_level_anew(text: str) -> None:
    texts = ["//*[contains(., 'xxy')]", "//* = 'xx'", "//*[starts-with(., 'xy')]", "//* = 5", "//*[. < 0]"]
    texts += ["//*[. < 0 and not(b)]", "//*[contains(., 'xxy') and not(b)]", "not(//*[contains(., 'q')])"]
    document = "<a>" * 200 + text + "</a>" * 200
    engine = DfaEngine([language.parse(text) for text in texts])
    assert _found(engine, [document]) == [[0, 7]]
    assert engine.steps < 8 * len(document)


def test_a_profile_is_not_looked_at_until_what_is_rare_is_there() -> None:
    engine = DfaEngine([language.parse("/r[@x = 'a' and @y > 5]"), language.parse("/r[n = 1 or n = 2][@x = 'a']")])
    assert _found(engine, ["<r x='a' y='1'/>"] * 100) == []
    assert engine.tried <= 2  # both found a need that these documents do not meet
    assert _found(engine, ["<r x='a' y='6'/>", "<r x='a'><n>2</n></r>", "<r x='a' y='6'><n>1</n></r>"]) == [
        [0, 0], [1, 1], [2, 0], [2, 1]
    ]  # fmt: skip
    assert engine.verified == 4


def test_many_pieces_of_text_are_searched_for_at_once() -> None:
    words = [f"w{k}" for k in range(300)] + ["w1w", "1w2", "2"]
    engine = DfaEngine([language.parse(f"//p[contains(., '{word}')]") for word in words])
    text = "w1w299 w17 x"
    document = "<r>" + "<p>" * 50 + text + "</p>" * 50 + "</r>"
    assert _found(engine, [document]) == [[0, at] for at, word in enumerate(words) if word in text]
    assert engine.steps <= 2 * len(text)


def test_equal_tests_are_looked_up_and_not_repeated() -> None:
    profiles = [language.parse(f"//a[@x {sign} {k}]") for k in range(200) for sign in ("<", "<=", ">", ">=", "=", "!=")]
    table = pa.table({"payload": [f"<a x='{value}'/>" for value in ("100", "-1", "99.5", "x", "", "1e2")] * 20})
    fast, slow = (language.matcher(profiles, engine=name).match(table) for name in ("dfa", "lxml"))
    assert fast.pairs().tolist() == slow.pairs().tolist()


def test_a_node_at_the_end_of_many_paths_meets_just_these() -> None:
    ends = ["", "[. != 'x']", "[. != 'y']", "[. != 3]", "[. != 4]"]
    profiles = [language.parse(f"//b{i}//a{end}") for i in range(150) for end in ends]
    documents = [
        "<r>" + "".join(f"<b{i}><a>{text}</a></b{i}>" for i in range(start, 150, step)) + "</r>"
        for start, step, text in [(0, 2, "x"), (1, 3, "3"), (0, 1, "z"), (31, 32, "y"), (149, 1, "4.0"), (63, 64, "")]
    ]
    oracle = language.matcher(profiles, engine="lxml").match(pa.table({"payload": documents})).pairs().tolist()
    assert _found(DfaEngine(profiles), documents) == oracle


def test_a_step_is_tried_where_its_rest_leads_from_be_that_few_elements_or_many() -> None:
    texts = ["//*[b = 1]/c", "/r/*[c and b = 2]", "//a[b][c = 3]//b", "/*[.//c = 3]//b[. = 4]", "//*[*/b = 1 and @x]"]
    texts += [
        "/*/*[contains(b, '1')]/c[. = 3]",
        "//*[b = 3 and c = 3]",
        "//a[@x > 14 and b = 0]/c",
        "//*[@x = 17 and c]",
    ]
    profiles = [language.parse(text) for text in texts]
    documents = [
        "<r x='1'>"
        + "".join(f"<a x='{i}'><b>{i % 5}</b>{'<c>3</c>' * (i % 3 == 0)}</a>" for i in range(count))
        + "</r>"
        for count in (0, 1, 4, 7, 15, 16, 17, 18, 60)
    ]
    oracle = language.matcher(profiles, engine="lxml").match(pa.table({"payload": documents})).pairs().tolist()
    assert _found(DfaEngine(profiles), documents) == oracle


def test_few_elements_that_a_path_leads_from_are_all_that_is_tried() -> None:
    engine = DfaEngine([language.parse("//*[@x = 1 and @y = 1]")])
    many = "".join(f"<a x='{i}' y='{i + 1}'/>" for i in range(500))
    assert _found(engine, [f"<r>{many}</r>"]) == []
    assert engine.verified == 1
    assert engine.steps < 500 + 500 + 5  # all attributes of each name, and of the elements one


def test_what_is_remembered_is_not_made_again_where_there_is_room() -> None:
    profiles = [language.parse(f"//a{i}[@x = 'v{k}']") for i in range(40) for k in range(40)]
    documents = ["<r>" + "".join(f"<a{i} x='v{k}'/>" for i in range(40)) + "</r>" for k in range(40)]
    engine = DfaEngine(profiles)
    found = _found(engine, documents)
    assert len(found) == engine.remembered == 1600
    assert _found(engine, documents) == found
    assert engine.remembered == 1600
