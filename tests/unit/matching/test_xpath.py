"""The XPath engines: what matches, columns, hostile messages."""

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


def test_texts_whose_hashes_are_alike_are_told_apart() -> None:
    """These two agree in their slot among eight, and in all of the hash that a slot holds."""
    one, other = "0816383", "3732368"
    (alone, both) = ([f"//a/@x = '{text}'" for text in texts] for texts in ([one], [one, other]))
    assert matched(alone, f"<a x='{other}'/>") == []
    assert matched(both, f"<a x='{one}'/>") == both[:1]
    assert matched(both, f"<a x='{other}'/>") == both[1:]


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
