"""The XPath engines: columns, what the automaton and its accesses do, hostile messages."""

from __future__ import annotations

import pickle
import tracemalloc
from pathlib import Path
from threading import Thread

import pyarrow as pa
import pytest

import semcast
from semcast.matching import markup
from semcast.matching.xpath import ENGINES, XPathMatcher, flat
from semcast.matching.xpath import documents as xml
from semcast.matching.xpath.accesses import accesses, refutations
from semcast.matching.xpath.dfa import DfaEngine

language = semcast.language("xpath")
NEWS = "<news><item lang='en' rank='7'>one<!-- c -->two</item><item lang='de'>three</item></news>"


def matched(texts: list[str], document: object, engine: str = "dfa") -> list[str]:
    matcher = language.matcher([language.parse(text) for text in texts], engine=engine)
    kind = pa.binary() if isinstance(document, bytes) else pa.string()
    found = matcher.match(pa.table({"payload": pa.array([document], kind)})).of(0)
    return [texts[index] for index in found]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("news/item", True),
        ("item", False),
        ("//item[@lang = 'de'] = 'three'", True),
        ("//item[@lang = 'en'] = 'three'", False),
        ("//item[@lang = 'de' and @rank]", False),
        ("//item[@lang = 'en'][@rank > 6.5]", True),
        ("//item != 'three'", True),
        ("//item = 'onetwo'", True),
        ("//item/text() = 'onetwo'", False),
        ("//text() = 'two'", True),
        ("//@rank = '7.0'", False),
        ("//@rank = 7.0", True),
        ("//@rank < '8'", True),
        ("//@lang > 1", False),
        ("//@lang != 1", True),
        ("contains(//item, 'three')", False),
        ("contains(//nothing, '')", True),
        ("/. and contains(/news[nothing], '')", True),
        ("//item[contains(., 'three')]", True),
        ("starts-with(news, 'onetwothree')", True),
        ("not(//item[not(@lang)])", True),
        ("not(//item[not(@rank)])", False),
        ("not(a) and not(b)", True),
        ("a or not(news)", False),
        ("news[item/@lang = 'en' or nothing]/item[@rank]", True),
        ("//item[/news/item/@rank]", True),
        ("//*[.//@rank]", True),
        (". = 'onetwothree'", True),
        ("/", True),
        ("/@lang", False),
    ],
)
def test_a_profile_matches_as_xpath_says(engine: str, text: str, holds: bool) -> None:
    assert bool(matched([text], NEWS, engine)) is holds


def test_names_without_prefix_are_in_no_namespace(engine: str) -> None:
    texts = ["a", "Q{urn:x}a", "Q{urn:x}*", "*", "Q{urn:y}*", "*/@b", "*/@Q{urn:x}b", "*/@Q{urn:x}*", "*/@xml:lang"]
    document = "<a xmlns='urn:x' xmlns:x='urn:x' x:b='1' xml:lang='en'/>"
    assert matched(texts, document, engine) == [
        "Q{urn:x}a",
        "Q{urn:x}*",
        "*",
        "*/@Q{urn:x}b",
        "*/@Q{urn:x}*",
        "*/@xml:lang",
    ]


TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
BYTES = [pa.binary(), pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int8(), pa.binary())]


@pytest.mark.parametrize("kind", [*TEXTS, *BYTES], ids=str)
def test_payloads_may_be_text_or_bytes_of_any_arrow_type(engine: str, kind: pa.DataType) -> None:
    matcher = language.matcher([language.parse("a"), language.parse("a = 'é'")], engine=engine)
    texts = ["<a/>", None, "<a>é</a>", "<b/>", "no xml"]
    values = texts if kind in TEXTS else [text and text.encode() for text in texts]
    table = pa.concat_tables([pa.table({"payload": pa.array(values, kind)})] * 2)
    assert matcher.match(table).pairs().tolist() == [[0, 0], [2, 0], [2, 1], [5, 0], [7, 0], [7, 1]]
    assert (matcher.unreadable, matcher.missing) == (2, 2)
    assert matcher.match(table.slice(1, 3)).pairs().tolist() == [[1, 0], [1, 1]]


def test_a_batch_without_payloads_matches_nothing(engine: str) -> None:
    matcher = language.matcher([language.parse("not(a)")], engine=engine)
    assert len(matcher.match(pa.table({"x": [1, 2]}))) == 0
    assert len(matcher.match(pa.table({"payload": [1, None, 2]}))) == 0
    assert len(matcher.match(pa.table({"payload": pa.nulls(3)}))) == 0
    assert matcher.match(pa.table({"payload": pa.array([], pa.string())})).rows == 0
    assert (matcher.unreadable, matcher.missing) == (2, 6)
    with pytest.raises(semcast.SemcastError, match="2 columns"):
        matcher.match(pa.Table.from_arrays([pa.array(["<a/>"])] * 2, ["payload", "payload"]))


def test_a_declared_encoding_counts_for_bytes_and_not_for_text(engine: str) -> None:
    text = "<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>"
    for payload in (text, text.encode("latin-1"), "<a>é</a>".encode("utf-16"), "\ufeff<a>é</a>".encode()):
        assert matched(["a = 'é'"], payload, engine) == ["a = 'é'"]


def _bomb() -> str:
    entities = "".join(f"<!ENTITY e{i} '{f'&e{i - 1};' * 10}'>" for i in range(1, 10))
    return f"<!DOCTYPE a [<!ENTITY e0 'ten bytes.'>{entities}]><a x='&e9;'>&e9;</a>"


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        ("", "not well-formed"),
        ("<a>", "not well-formed"),
        ("<a></b>", "not well-formed"),
        ("<p:a/>", "not well-formed"),
        ("<a/><a/>", "not well-formed"),
        ("<a x='1' x='2'/>", "not well-formed"),
        ("<a>\x01</a>", "not well-formed"),
        ("<Entity></entity>", "not well-formed"),
        ("<a>&nothing;</a>", "entities"),
        ("<!DOCTYPE a [<!ENTITY e 'x'>]><a>&e;</a>", "entities"),
        ("<!DOCTYPE a [<!ELEMENT a ANY>]><a/>", "elements"),
        ("<!DOCTYPE a [<!ENTITY e '&f;'><!ENTITY f '&e;'>]><a>&e;</a>", "entities"),
        ("<!DOCTYPE a SYSTEM 'http://192.0.2.1/a.dtd'><a>&e;</a>", "entities"),
        ("<!DOCTYPE a [<!ENTITY % e SYSTEM 'http://192.0.2.1/a.dtd'> %e;]><a/>", "entities"),
        (_bomb(), "entities"),
        ("<a>" * 100_000, "too deep"),
        ("<a>" * 100_000 + "</a>" * 100_000, "too deep"),
        ("<a>" + "x" * 11_000_000 + "</a>", "too large"),
        ("<a x='" + "x" * 11_000_000 + "'/>", "too large"),
        ("<a>" + "x" * xml.MAX_BYTES + "</a>", "too large"),
        (b"<a>\xff</a>", "not well-formed"),
        (b"\xff\xfe<\x00a", "not well-formed"),
        (b"<?xml version='1.0' encoding='nonsense'?><a/>", "not well-formed"),
        (b"\0" * 100, "not well-formed"),
    ],
    ids=lambda value: repr(value[:24]),
)
def test_a_hostile_message_is_told_and_costs_no_other_its_matches(engine: str, payload: str | bytes, why: str) -> None:
    matcher = language.matcher([language.parse("*"), language.parse("not(b)")], engine=engine)
    assert isinstance(matcher, XPathMatcher)
    data = payload if isinstance(payload, bytes) else payload.encode()
    batch = pa.table({"payload": pa.array([b"<a/>", data, None, b"<a/>"], pa.binary())})
    found = matcher.read(batch)
    assert found.matches.pairs().tolist() == [[0, 0], [0, 1], [3, 0], [3, 1]]
    assert list(found.unreadable) == [1]
    assert why in found.unreadable[1]
    assert (found.missing, matcher.unreadable, matcher.missing) == (1, 1, 1)


def test_rows_that_cannot_be_read_are_numbered_across_slices_and_chunks() -> None:
    matcher = language.matcher([language.parse("a")])
    assert isinstance(matcher, XPathMatcher)
    part = pa.table({"payload": ["<a/>"] * 70 + ["<"] + [None]})
    found = matcher.read(pa.concat_tables([part, part]))
    assert found.unreadable == {70: "not well-formed", 142: "not well-formed"}
    assert (found.missing, len(found.matches)) == (2, 140)


def test_an_external_entity_is_not_read(engine: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    document = f"<!DOCTYPE a [<!ENTITY e SYSTEM '{secret.as_uri()}'>]><a>&e;</a>"
    assert matched(["a", "contains(a, 'secret')"], document, engine) == []
    assert matched(["a"], f"<!DOCTYPE a SYSTEM '{secret.as_uri()}'><a/>", engine) == ["a"]


def test_a_payload_beyond_the_limit_is_not_parsed(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "MAX_BYTES", 1000)
    assert matched(["a"], "<a>" + "x" * 993 + "</a>", engine) == ["a"]
    assert matched(["a"], "<a>" + "x" * 994 + "</a>", engine) == []


def test_an_entity_bomb_takes_no_memory() -> None:
    tracemalloc.start()
    try:
        assert matched(["a"], _bomb()) == []
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_a_matcher_travels_by_pickle(engine: str) -> None:
    matcher = language.matcher([language.parse("//item[@lang = 'en']"), language.parse("a")], engine=engine)
    matcher.remove(1)
    again: XPathMatcher = pickle.loads(pickle.dumps(matcher))
    assert again.add(language.parse("news")) == 2
    assert again.match(pa.table({"payload": [NEWS]})).pairs().tolist() == [[0, 0], [0, 2]]
    assert (len(again), len(matcher)) == (2, 1)


def test_a_payload_of_too_many_tags_is_not_parsed(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markup, "MAX_TAGS", 4)
    assert matched(["a"], "<?p?><a><b/></a>", engine) == ["a"]
    assert matched(["a"], "<?p?><a><b/><b/></a>", engine) == []


@pytest.mark.parametrize("document", [NEWS, f"<?p?>{NEWS}"])
def test_a_document_is_read_once_for_all_segments(document: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    scan, parse = flat.scan, markup.tree_of
    monkeypatch.setattr(flat, "scan", lambda *given: read.append("scanned") or scan(*given))
    monkeypatch.setattr(markup, "tree_of", lambda *given: read.append("parsed") or parse(*given))
    matcher = language.matcher([language.parse(f"a{i}") for i in range(50)])
    for text in ("news", "//item"):
        matcher.add(language.parse(text))
        matcher.match(pa.table({"payload": [document]}))
    assert read == (["scanned"] * 2 if document == NEWS else ["scanned", "parsed"] * 2)


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


def test_texts_whose_hashes_are_alike_are_told_apart() -> None:
    """These two agree in their slot among eight, and in all of the hash that a slot holds."""
    one, other = "0816383", "3732368"
    (alone, both) = ([f"//a/@x = '{text}'" for text in texts] for texts in ([one], [one, other]))
    assert matched(alone, f"<a x='{other}'/>") == []
    assert matched(both, f"<a x='{one}'/>") == both[:1]
    assert matched(both, f"<a x='{other}'/>") == both[1:]


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


def test_threads_may_match_and_change_at_once() -> None:
    matcher = language.matcher([language.parse("news"), language.parse("//item[@lang = 'en'][@rank]")])
    table = pa.table({"payload": [NEWS] * 50})
    problems: list[object] = []

    def work() -> None:
        for _ in range(10):
            index = matcher.add(language.parse("//item"))
            found = matcher.match(table).of(49).tolist()
            matcher.remove(index)
            if not {0, 1, index} <= set(found):
                problems.append(found)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert len(matcher) == 2
