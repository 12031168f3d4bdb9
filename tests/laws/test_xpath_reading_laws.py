"""The laws of reading XML: what the scanner reads libxml2 reads to the same document, and tests hold as XPath says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import semcast
from semcast.matching.markup import Refusal, parser, tree_of
from semcast.matching.payloads import Payloads
from semcast.matching.xpath.documents import Documents
from semcast.matching.xpath.flat import Flat, scanned, with_trees
from semcast.profiles.xpath.syntax import Number
from semcast.profiles.xpath.values import Test as ValueTest
from semcast.profiles.xpath.values import holds
from tests.laws.xpath_worlds import documents

language = semcast.language("xpath")

_PIECES = [
    *["<a>", "</a>", "<b x='1'>", "</b>", "<a/>", "<b y=\"2\" x = '3'/>", "<a x='1' x='2'/>", "<a x='1'y='2'/>"],
    *["text", " ", "\n", "\r\n", "\r", "\t", "]]", "]]>", ">", "é", "€", "𝄞", "\ufffe", "\x01", "\x7f", "\x85", "\0"],
    *["&amp;", "&lt;", "&quot;", "&apos;", "&gt;", "&#65;", "&#x41;", "&#x1F600;", "&#0;", "&#xD800;", "&#13;", "&#;"],
    *["&nothing;", "&amp", "&", "<!-- c -->", "<!--->", "<!---->", "<!-- a--b -->", "<!-- --->", "<!-- \x01 -->"],
    *["<![CDATA[x]]>", "<![CDATA[]]>", "<![CDATA[]]]]>", "<![CDATA[<a>&amp;\r\n]]>", "<?p d?>", "<?xml?>"],
    *[
        "<a\n x='a\tb\nc'/>",
        "<a x='&#10;&#9;'/>",
        "<a x='<'/>",
        '<a x="\'"/>',
        "<a x='\r\n'/>",
        "<a:b/>",
        "<é/>",
        "<aé/>",
    ],
    *[
        "<a xmlns='u'/>",
        "<a xmlns:p='u' p:x='1'/>",
        "<a xml:lang='en'/>",
        "<xml/>",
        "<XmLa/>",
        "</a >",
        "< a/>",
        "<a / >",
    ],
    *["<!DOCTYPE a>", "<!DOCTYPE a [<!ENTITY e 'x'>]>", "<", "=", "<a x=1/>", "<a x/>", "<_-.9/>", "<9/>"],
]
_DECLARATIONS = [
    "",
    "",
    "<?xml version='1.0'?>",
    '<?xml version="1.0" encoding="UTF-8" ?>\n',
    "\ufeff",
    " ",
    "<!-- c -->",
]
_bodies = st.lists(st.sampled_from(_PIECES), max_size=6).map("".join)
_whole = st.builds(
    "{}<r>{}</r>{}".format, st.sampled_from(_DECLARATIONS), _bodies, st.sampled_from(["", "\n", "<!--e-->", "x"])
)
_loose = st.builds("{}{}".format, st.sampled_from(_DECLARATIONS), _bodies)
_spoilt = st.builds(
    lambda text, at, byte: text.encode()[:at] + bytes([byte]) + text.encode()[at + 1 :],
    _whole,
    st.integers(0, 60),
    st.integers(0, 255),
)
_messages = st.one_of(_whole.map(str.encode), _loose.map(str.encode), _spoilt, documents.map(str.encode))


def _alone(message: bytes) -> Flat:
    source = np.frombuffer(message, np.uint8) if message else np.empty(0, np.uint8)
    return scanned(source, np.array([0]), np.array([len(message)]))


def _shown(flat: Flat) -> object:
    """A document with names and texts in place of numbers."""
    (e0, e1, a0, a1, t0, t1) = flat.documents[0].tolist()
    room, names = flat.room, [*flat.names, b""]

    def text(begin: int, end: int) -> bytes:
        return room.data[begin:end].tobytes()

    def here(number: int, base: int) -> int:
        return number - base if number >= 0 else -1

    elements = [
        (names[name], here(parent, e0), text(begin, end), first - a0, here(last, t0))
        for name, parent, begin, end, first, last in room.elements[e0:e1].tolist()
    ]
    attributes = [(names[n], owner - e0, text(b, e)) for n, owner, b, e in room.attributes[a0:a1].tolist()]
    texts = [(here(before, t0), owner - e0, text(b, e)) for before, owner, b, e in room.texts[t0:t1].tolist()]
    return elements, attributes, texts


@given(_messages)
@settings(max_examples=1500, deadline=None)
def test_what_the_scanner_reads_libxml2_reads_to_the_same_document(message: bytes) -> None:
    read = _alone(message)
    if read.readable(0):
        for encoding in (None, "utf-8"):
            tree = tree_of(message, parser(encoding))
            assert not isinstance(tree, Refusal), message
            assert _shown(read) == _shown(with_trees(_alone(b""), [(0, tree)]))


@given(documents.filter(lambda text: "p:" not in text and "<?" not in text))
@settings(max_examples=50, deadline=None)
def test_ordinary_documents_are_left_to_the_scanner(document: str) -> None:
    assert _alone(document.encode()).readable(0)


_numbers = st.text(st.sampled_from("0123456789.eE+- \t"), max_size=40)
_texts = st.one_of(
    _numbers,
    _numbers.map(lambda text: text * 30),
    st.text(st.sampled_from("ab "), max_size=120),
    st.from_regex(r"[ \n]{0,70}-?[0-9]{0,400}(\.[0-9]{0,80})?([eE][+-]?[0-9]{0,9})?[ \t]{0,70}", fullmatch=True),
)
_tests = st.one_of(
    st.builds(
        ValueTest, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), _numbers.filter(lambda text: "'" not in text)
    ),
    st.builds(
        ValueTest, st.sampled_from(["contains", "starts-with", "=", "!="]), st.text(st.sampled_from("ab "), max_size=6)
    ),
    st.builds(
        lambda sign, digits: ValueTest(sign, Number(digits)),
        st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
        st.sampled_from(["0", "1", "-1", "10", "0.5", "1000000000000000000000", "-12.25"]),
    ),
)


def _condition(test: ValueTest) -> str:
    literal = test.literal.digits if isinstance(test.literal, Number) else f"'{test.literal}'"
    if test.operator in ("contains", "starts-with"):
        return f"{test.operator}(., {literal})"
    return f". {test.operator} {literal}"


@given(st.lists(_tests, min_size=1, max_size=6), st.lists(_texts, min_size=1, max_size=5))
@settings(max_examples=200, deadline=None)
def test_compiled_tests_hold_as_the_language_says(tests: list[ValueTest], texts: list[str]) -> None:
    """On the walk, as what is needed beside, and in verification; the same texts at three levels."""
    profiles = [f"//a[{_condition(test)}]" for test in tests]
    profiles += [f"//a[not(z)][{_condition(test)}]" for test in tests]
    profiles += [f"//a[. = '{texts[0]}'][{_condition(test)}]" for test in tests]
    batch = pa.table({"payload": [f"<a><a><b>{text}</b></a></a>" for text in texts]})
    found = language.matcher([language.parse(text) for text in profiles]).match(batch).pairs().tolist()
    wanted = []
    for row, text in enumerate(texts):
        held = [holds(test, text) for test in tests]
        both = [truth and text == texts[0] for truth in held]
        wanted += [[row, at] for at, truth in enumerate([*held, *held, *both]) if truth]
    assert found == wanted


@given(st.lists(_messages, max_size=5))
@settings(max_examples=100, deadline=None)
def test_a_message_is_read_the_same_alone_and_among_others(messages: list[bytes]) -> None:
    ends = np.cumsum([0, *map(len, messages)])
    source = np.frombuffer(b"".join(messages) or b" ", np.uint8)
    together = Documents(Payloads(source, ends[:-1], ends[1:], None, {})).flat
    for row, message in enumerate(messages):
        tree = tree_of(message, parser(None))
        assert together.readable(row) is not isinstance(tree, Refusal)
        if not isinstance(tree, Refusal):
            one = together._replace(documents=together.documents[row : row + 1])
            assert _shown(one) == _shown(with_trees(_alone(b""), [(0, tree)]))
