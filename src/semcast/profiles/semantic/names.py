"""Names with their namespaces: ``company`` of a stock schema is not ``company`` of a product schema (thesis §5.1)."""

from __future__ import annotations

import re
from functools import lru_cache
from xml.parsers import expat

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDF_DRAFT = "http://www.w3.org/TR/WD-rdf-syntax#"
"""What RDF was called in 1999, and in the thesis' figures: the same to us."""
ROOT = f"{{{RDF}}}RDF"
DESCRIPTION = f"{{{RDF}}}Description"
INTEREST = "http://schema.SemanticRouting.net/ip/1.0"
PACKET = "http://schema.SemanticRouting.net/sr/1.0"
XML = "http://www.w3.org/XML/1998/namespace"
_OPERATORS = re.compile(r"(?:.*[/:#])?(?:ip|operations)/[0-9]+(?:\.[0-9]+)*")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_UNFIT = re.compile(r"[\s{}<>\"]")


def named(name: str) -> str:
    """A name in Clark's notation as we compare it: RDF's two namespaces are one."""
    draft = f"{{{RDF_DRAFT}}}"
    return f"{{{RDF}}}{name[len(draft) :]}" if name.startswith(draft) else name


def split(name: str) -> tuple[str, str]:
    """Namespace ("" where there is none) and local name."""
    if not name.startswith("{"):
        return "", name
    uri, _, local = name[1:].rpartition("}")
    return uri, local


def clark(uri: str, local: str) -> str:
    return named(f"{{{uri}}}{local}") if uri else local


def has_operators(uri: str) -> bool:
    """Is this a namespace of operators, as ``…/ip/1.0`` and ``…/operations/1.0`` are in the thesis' figures?"""
    return _OPERATORS.fullmatch(uri) is not None


def is_namespace(uri: str) -> bool:
    """Can this be written between braces and angle brackets?"""
    return bool(uri) and _UNFIT.search(uri) is None and is_text(uri)


@lru_cache(maxsize=1 << 12)
def is_local_name(text: str) -> bool:
    """Can an element be called so?"""
    if _PLAIN.fullmatch(text):
        return True
    if not text or not is_text(text) or set(text) & set(" \t\r\n<>/:&;='\""):
        return False
    try:
        expat.ParserCreate("utf-8").Parse(f"<{text}/>".encode(), True)
    except expat.ExpatError:
        return False
    return True


_NO_TEXT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def is_text(text: str) -> bool:
    """Can an XML document hold this?"""
    return _NO_TEXT.search(text) is None


def unfit(text: str) -> re.Match[str] | None:
    """The first character that no XML document can hold."""
    return _NO_TEXT.search(text)
