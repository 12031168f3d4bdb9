"""From bytes to libxml2's tree, or why it is refused.

A message comes from anywhere, so nothing in it is trusted: no entity is resolved, nothing is loaded, a
document that declares elements or entities of its own is refused, and so is one that is too large or
deeper than libxml2 goes (256 to 2,048 levels, by its version).
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

from lxml import etree

MAX_BYTES = 1 << 24
"""A longer payload is not parsed: libxml2 needs some ten times as much for its tree."""
MAX_TAGS = 1 << 20
"""Nor is a payload with more ``<``: an element takes up to 4 bytes for each step of a profile, beside its tree."""


class Refusal(StrEnum):
    """Why a payload that is there cannot be read."""

    MALFORMED = "not well-formed"
    TOO_LARGE = "too large"
    TOO_DEEP = "too deep"
    DECLARES = "declares or needs entities or elements"
    NO_TEXT = "neither text nor bytes"


_COMPLAINTS = (
    (re.compile("^Excessive depth"), Refusal.TOO_DEEP),
    (re.compile("^Entity '|entity (amplification|reference loop)"), Refusal.DECLARES),
    (re.compile("too long|too big|huge text node|limit exceeded"), Refusal.TOO_LARGE),
)

Tree = Any  # lxml's stubs know no XPath result that is a plain bool


def parser(encoding: str | None) -> etree.XMLParser:
    """A parser that trusts nothing; ``encoding`` counts for more than what a document declares."""
    return etree.XMLParser(
        encoding=encoding,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=False,
        recover=False,
        strip_cdata=True,
        remove_comments=False,
        remove_pis=False,
    )


def tree_of(payload: bytes, parser: etree.XMLParser) -> Tree | Refusal:
    if len(payload) > MAX_BYTES or payload.count(b"<") > MAX_TAGS:
        return Refusal.TOO_LARGE
    try:
        tree = etree.fromstring(payload, parser).getroottree()
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        return _why(error)
    dtd = tree.docinfo.internalDTD
    if dtd is not None and _declares(tree, dtd):
        return Refusal.DECLARES
    return tree


def _why(error: Exception) -> Refusal:
    """What libxml2 complains of, by its words: its limits share one code, or have another in each version."""
    text = str(error)
    return next((why for words, why in _COMPLAINTS if words.search(text)), Refusal.MALFORMED)


def _declares(tree: Tree, dtd: Any) -> bool:
    """Does the document bring declarations, or refer to ones that are elsewhere?"""
    if next(dtd.iterentities(), None) is not None or next(dtd.iterelements(), None) is not None:
        return True
    return next(tree.iter(etree.Entity), None) is not None
