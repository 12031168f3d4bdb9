"""The short notation: interest profiles for people.

::

    prefix d <http://schema.concerts.org/concert/1.0>
    d:Locale
      d:Position within 10 miles of 40.5, -74.4
    d:Genre = Jazz | Rock
    not
      d:Price > 70

Lines of one block are all asked for. It says the same as the XML (``xml_form``), and either is made from the other.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches

from semcast.model import ProfileError
from semcast.profiles.semantic.markup import MAX_BLOCKS, MAX_CONDITIONS
from semcast.profiles.semantic.names import (
    DESCRIPTION,
    RDF,
    XML,
    clark,
    has_operators,
    is_local_name,
    is_namespace,
    is_text,
)
from semcast.profiles.semantic.syntax import (
    ANYTHING,
    NOTHING,
    Distance,
    Expression,
    Text,
    between,
    conjunction,
    disjunction,
    has,
    negation,
)
from semcast.profiles.semantic.tokens import END, Token, tokenize
from semcast.profiles.semantic.units import UNITS
from semcast.profiles.semantic.values import BOTTOM, TOP, Cut, collapsed, number
from semcast.profiles.semantic.xml_form import off_the_globe

_COMPARISONS: dict[str, tuple[bool, int]] = {">=": (True, 0), ">": (True, 1), "<=": (False, 1), "<": (False, 0)}
_BLOCKS = {"and": conjunction, "or": disjunction}
WORDS = frozenset({"prefix", "and", "or", "not", "anything", "nothing", "number", "within", "RDF"})
"""What has a meaning of its own at the beginning of a line; an element of such a name is written ``Q{}and``."""


def from_notation(text: str, namespaces: Mapping[str, str] | None = None) -> Expression:
    """The expression at the descriptor's root."""
    return _Parser(text, namespaces).profile()


class _Parser:
    def __init__(self, text: str, namespaces: Mapping[str, str] | None) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._at = 0
        self._depth = self._conditions = 0
        self._prefixes = {"rdf": RDF, "xml": XML, **_checked(namespaces)}

    def profile(self) -> Expression:
        while self._peek().value == "prefix" and self._peek().type == "WORD":
            self._prefix()
        if self._peek().type == END:
            raise self._error("the profile is empty", self._peek(), "ask for an element, as in d:Genre = Jazz")
        if self._peek().value == "RDF" and self._peek().type == "WORD":
            self._next()
            found = conjunction(self._block())
        else:
            found = has(DESCRIPTION, conjunction(self._statements()))
        if self._peek().type != END:
            raise self._error("nothing can follow here", self._peek(), None)
        return found

    def _prefix(self) -> None:
        """``prefix d <uri>``"""
        self._next()
        name, uri = self._next(), self._next()
        if name.type != "WORD" or uri.type not in ("URI", "WORD") or not is_local_name(name.value):
            raise self._error("a prefix is a name and a namespace", name, "as in prefix d <http://…>")
        space = uri.value.strip("<>")
        if not is_namespace(space):
            raise self._error(f"{space!r} cannot be a namespace", uri, None)
        self._prefixes[name.value] = space
        if self._sign(";"):
            return
        if self._peek().type != END:
            raise self._error("a prefix stands on a line of its own", self._peek(), None)

    def _statements(self) -> list[Expression]:
        found = [self._statement()]
        while self._sign(";"):
            if self._peek().value == "}" or self._peek().type == END:
                break
            found.append(self._statement())
        return found

    def _block(self) -> list[Expression]:
        """What is asked for deeper down; may be missing."""
        if not self._sign("{"):
            return []
        self._depth += 1
        if self._depth > MAX_BLOCKS:
            raise self._error(f"the profile is nested deeper than {MAX_BLOCKS} levels", self._peek(), None)
        found = self._statements()
        if not self._sign("}"):
            raise self._error("a block is not closed", self._peek(), "write }")
        self._depth -= 1
        return found

    def _statement(self) -> Expression:
        token = self._peek()
        self._conditions += 1
        if self._conditions > MAX_CONDITIONS:
            raise self._error(f"the profile has more than {MAX_CONDITIONS:,} conditions", token, "split it")
        if token.type == "WORD" and token.value in WORDS:
            return self._keyword(token)
        if token.type in ("WORD", "NAME"):
            self._next()
            name = self._name(token)
            tests = self._tests()
            return has(name, conjunction(tests + self._block()))
        tests = self._tests()
        if not tests:
            raise self._error("an element or a test is missing here", token, "as in d:Genre = Jazz")
        return conjunction(tests)

    def _keyword(self, token: Token) -> Expression:
        word = token.value
        if word in ("number", "within"):
            return conjunction(self._tests())
        self._next()
        if word in ("anything", "nothing"):
            return ANYTHING if word == "anything" else NOTHING
        if word in ("prefix", "RDF"):
            raise self._error(f"{word!r} can only stand at the beginning", token, f"an element: Q{{}}{word}")
        items = self._block()
        if not items:
            raise self._error(f"{word!r} has nothing below it", token, "indent what belongs to it")
        return negation(conjunction(items)) if word == "not" else _BLOCKS[word](items)

    def _name(self, token: Token) -> str:
        if token.type == "NAME":
            uri, _, local = token.value[2:].partition("}")
            if uri and not is_namespace(uri):
                raise self._error(f"{uri!r} cannot be a namespace", token, None)
        else:
            prefix, colon, local = token.value.rpartition(":")
            if colon and prefix not in self._prefixes:
                close = get_close_matches(prefix, self._prefixes, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"say what it stands for: prefix {prefix} <http://…>"
                raise self._error(f"the prefix {prefix!r} has no namespace", token, hint)
            uri = self._prefixes[prefix] if colon else ""
        if not is_local_name(local):
            raise self._error(f"no element can be called {local!r}", token, None)
        if has_operators(uri):
            raise self._error("this is a namespace of operators", token, "write and, or, not, =, <, within")
        return clark(uri, local)

    def _tests(self) -> list[Expression]:
        """Of the node's own value, on one line: all of them."""
        token = self._peek()
        if self._sign("="):
            return [disjunction(self._texts())]
        if token.type == "WORD" and token.value == "within":
            return [self._distance()]
        if token.type == "WORD" and token.value == "number":
            self._next()
            return [between(BOTTOM, TOP)]
        low, high = BOTTOM, TOP
        while (sign := self._peek()).type == "SIGN" and sign.value in _COMPARISONS:
            self._next()
            is_low, side = _COMPARISONS[sign.value]
            cut: Cut = (self._number(), side)
            low, high = (max(low, cut), high) if is_low else (low, min(high, cut))
        return [] if (low, high) == (BOTTOM, TOP) else [between(low, high)]

    def _texts(self) -> list[Expression]:
        found = [self._string()]
        while self._sign("|"):
            found.append(self._string())
        return found

    def _string(self) -> Expression:
        token = self._peek()
        if token.type == "STRING":
            self._next()
            try:
                value = json.loads(token.value, strict=False)
            except ValueError:
                hint = 'backslashes are as in JSON: \\" \\\\ \\u00e9'
                raise self._error("this text is not understood", token, hint) from None
            if not is_text(value):
                raise self._error("no XML can hold this text", token, None)
            return Text(collapsed(value))
        words: list[str] = []
        while self._peek().type in ("WORD", "NAME"):
            words.append(self._next().value)
        if not words:
            raise self._error("a text is missing here", token, 'as in = "Jazz"')
        return Text(collapsed(" ".join(words)))

    def _distance(self) -> Expression:
        """``within 10 miles of 40, -74.4``"""
        first = self._next()
        usage = "as in within 10 miles of 40.5, -74.4"
        far = self._number(usage)
        unit = self._next()
        if unit.value not in UNITS:
            raise self._error(f"{unit.value!r} is no unit of distance", unit, f"there are {', '.join(UNITS)}")
        if self._next().value != "of":
            raise self._error("a distance is from a place", first, usage)
        latitude, longitude = self._number(usage), self._number(usage)
        if problem := off_the_globe(far * UNITS[unit.value], latitude, longitude):
            raise self._error(problem, first, usage)
        return Distance(far * UNITS[unit.value], latitude, longitude)

    def _number(self, usage: str | None = None) -> float:
        token = self._next()
        found = number(token.value.rstrip(","))
        if found is None:
            raise self._error("a number is missing here", token, usage)
        return found

    def _peek(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += token.type != END
        return token

    def _sign(self, sign: str) -> bool:
        token = self._peek()
        found = token.type == "SIGN" and token.value == sign
        self._at += found
        return found

    def _error(self, message: str, token: Token, hint: str | None) -> ProfileError:
        return ProfileError(message, self._text, token.start, length=token.length, hint=hint)


def _checked(namespaces: Mapping[str, str] | None) -> dict[str, str]:
    found: dict[str, str] = {}
    pairs: list[tuple[object, object]] = list((namespaces or {}).items())
    for prefix, uri in pairs:
        if not isinstance(prefix, str) or not isinstance(uri, str):
            raise ProfileError("a prefix map is from text to text")
        if not is_local_name(prefix):
            raise ProfileError(f"{prefix!r} cannot be a prefix")
        if not is_namespace(uri):
            raise ProfileError(f"{uri!r} cannot be the namespace of the prefix {prefix!r}")
        found[prefix] = uri
    return found
