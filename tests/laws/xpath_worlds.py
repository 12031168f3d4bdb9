"""Small worlds for XPath laws: few names and values, so that profiles and documents meet."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from lxml import etree

NAMESPACES = {"p": "urn:p", "q": "urn:q"}
_NAMES = ["a", "b", "c", "p:a"]
_TEXTS = ["", "1", "2", " 2 ", "2.0", "x", "xy", "-1", "1e1", "NaN", "a&amp;b"]
_LITERALS = ["'1'", "'2'", "'x'", "''", "'xy'", "1", "2", "0.5", "-1", "10", "1.5"]

_names = st.sampled_from(_NAMES)
_attributes = st.dictionaries(st.sampled_from(["x", "y", "p:x"]), st.sampled_from(_TEXTS), max_size=2)
_content = st.sampled_from([*_TEXTS, "<!-- c -->", "<?t d?>", "<![CDATA[2]]>", "1<!-- -->2"])


def _element(name: str, attributes: dict[str, str], content: list[str]) -> str:
    given = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}{given}>{''.join(content)}</{name}>"


_elements: st.SearchStrategy[str] = st.recursive(
    st.builds(_element, _names, _attributes, st.lists(_content, max_size=2)),
    lambda inner: st.builds(_element, _names, _attributes, st.lists(st.one_of(_content, inner, inner), max_size=4)),
    max_leaves=12,
)
documents = _elements.map(lambda text: text.replace(">", ' xmlns:p="urn:p">', 1) if "p:" in text else text)
"""With and without namespaces: the scanner reads the latter only."""

_step_names = st.sampled_from(["a", "b", "c", "a", "b", "*", "p:a", "p:*"])
_separators = st.sampled_from(["/", "/", "//"])
_ends = st.sampled_from(["", "", "", "/@x", "/@*", "//@x", "/text()", "//text()", "/@p:x", "/."])


def _path(first: str, steps: list[tuple[str, str, str]], end: str) -> str:
    body = "".join(f"{separator}{name}{predicate}" for separator, name, predicate in steps)
    return first + body.lstrip("/") + end if first in ("", "./") else body + end


def _paths(conditions: st.SearchStrategy[str], relative: bool) -> st.SearchStrategy[str]:
    predicates = st.one_of(st.just(""), st.just(""), conditions.map(lambda text: f"[{text}]"))
    steps = st.lists(st.tuples(_separators, _step_names, predicates), min_size=1, max_size=3)
    whole = st.builds(_path, st.sampled_from(["", "./", "/"] if relative else ["/"]), steps, _ends)
    alone = st.sampled_from([".", ".", "@x", "@x", "text()", "@*", ".//text()"])
    return st.one_of(whole, alone) if relative else whole


def _conditions(paths: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    operators = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
    literals = st.sampled_from(_LITERALS)
    return st.one_of(
        paths,
        st.builds("{} {} {}".format, paths, operators, literals),
        st.builds("{} {} {}".format, literals, operators, paths),
        st.builds(
            "{}({}, {})".format, st.sampled_from(["contains", "starts-with"]), paths, st.sampled_from(_LITERALS[:5])
        ),
    )


def _combined(conditions: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        conditions,
        conditions,
        st.builds("not({})".format, conditions),
        st.builds("({}) and ({})".format, conditions, conditions),
        st.builds("{} or not({})".format, conditions, conditions),
    )


_inner = _combined(_conditions(_paths(st.sampled_from(["b", "@x", ". = 2", "c/@x > 1", "a or .//b"]), True)))
expressions = _combined(_conditions(st.one_of(_paths(_inner, False), _paths(_inner, False), _paths(_inner, True))))
"""Texts of profiles."""


def expected(text: str, document: str) -> bool:
    """What lxml says: ``boolean(text)`` with the document node as context, from the text as written."""
    tree: Any = etree.fromstring(document.encode()).getroottree()
    found: Any = tree.xpath(f"boolean(/self::node()[boolean({text})])", namespaces=NAMESPACES)
    return bool(found)
