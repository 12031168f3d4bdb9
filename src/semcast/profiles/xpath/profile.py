"""An XPath profile as a value: what was written, and the expression it means."""

from __future__ import annotations

from collections.abc import Mapping

from semcast.model import ProfileError
from semcast.profiles.xpath.parser import parse_expression
from semcast.profiles.xpath.syntax import (
    And,
    Call,
    Compare,
    Exists,
    Expression,
    Not,
    Or,
    Path,
    conjunction,
    disjunction,
    negation,
    render,
    text_of,
)


class XPathProfile:
    """A consumer's interest: the text as written and its expression (the normal form).

    Two profiles are equal when their expressions are, however they were written and prefixed.
    """

    __slots__ = ("_hash", "expression", "text")

    def __init__(self, text: str, expression: Expression) -> None:
        self.text = text
        self.expression = expression
        self._hash = hash(expression)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, XPathProfile) and self.expression == other.expression

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        return XPathProfile, (self.text, self.expression)

    def __str__(self) -> str:
        return text_of(self.expression)

    def __repr__(self) -> str:
        return f"XPathProfile({self.text!r})"


def parse(text: str, namespaces: Mapping[str, str] | None = None) -> XPathProfile:
    """Read a profile; raise ProfileError, and nothing else, for what is no profile.

    The context is the document node, so ``a/b`` and ``/a/b`` are the same profile.
    """
    try:
        return XPathProfile(text, _from_document(parse_expression(text, namespaces)))
    except RecursionError:  # the caller's stack was nearly used up
        raise ProfileError("the profile is nested too deeply", text) from None


def _from_document(expression: Expression) -> Expression:
    match expression:
        case Exists(path):
            return Exists(_absolute(path))
        case Compare(path, operator, literal):
            return Compare(_absolute(path), operator, literal)
        case Call(function, path, literal):
            return Call(function, _absolute(path), literal)
        case Not(item):
            return negation(_from_document(item))
        case And(items):
            return conjunction(map(_from_document, items))
        case Or(items):
            return disjunction(map(_from_document, items))


def _absolute(path: Path) -> Path:
    return Path(True, path.steps)


def xpath_1(expression: Expression) -> tuple[str, dict[str, str]]:
    """The expression as XPath 1.0 and the prefix map it needs: what another XPath engine can read."""
    prefixes: dict[str, str] = {}

    def naming(name: str) -> str:
        if not name.startswith("{"):
            return name
        uri, _, local = name[1:].partition("}")
        return f"{prefixes.setdefault(uri, f'n{len(prefixes)}')}:{local}"

    text = render(expression, naming)
    return text, {prefix: uri for uri, prefix in prefixes.items()}
