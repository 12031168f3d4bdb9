"""Interest profiles in XML, as the thesis writes them (Figures 3.4 and 5.2), and back.

Two ways to begin: ``<ip:IP>``, whose children are asked of a description, and ``<rdf:RDF>``, which repeats the
descriptor's own shape. An element of a namespace of operators is an operator; every other element asks for a
node of its name. Children of one element are all asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from difflib import get_close_matches
from xml.sax.saxutils import escape, quoteattr

from semcast.model import ProfileError
from semcast.profiles.semantic import markup
from semcast.profiles.semantic.markup import Element
from semcast.profiles.semantic.names import DESCRIPTION, INTEREST, RDF, ROOT, clark, has_operators, is_namespace, split
from semcast.profiles.semantic.syntax import (
    And,
    Distance,
    Expression,
    Has,
    Not,
    Or,
    Range,
    Text,
    between,
    conjunction,
    disjunction,
    has,
    negation,
)
from semcast.profiles.semantic.units import KM, UNITS
from semcast.profiles.semantic.values import BOTTOM, TOP, Cut, collapsed, number

_LIMITS: dict[str, tuple[bool, int]] = {"min": (True, 0), "above": (True, 1), "max": (False, 1), "below": (False, 0)}
"""Attributes of ``range``: is it the lower end, and on which side of the number is the cut?"""


def from_xml(text: str) -> Expression:
    """The expression at the descriptor's root."""
    return _Builder(text).profile(markup.read(text))


class _Builder:
    def __init__(self, text: str) -> None:
        self._text = text
        self._interest: str | None = None
        self._operators: dict[str, Callable[[Element], Expression]] = {
            "and": lambda element: conjunction(self._conditions(element)),
            "or": lambda element: disjunction(self._conditions(element)),
            "not": self._not,
            "string-match": self._string_match,
            "range": self._range,
            "distance": self._distance,
        }

    def profile(self, root: Element) -> Expression:
        if root.local == "IP" and root.uri:
            self._interest = root.uri
            return has(DESCRIPTION, self._all(root, "ask for something in it; <ip:And/> asks for everything"))
        if clark(root.uri, root.local) == ROOT:
            return self._all(root, "put an <rdf:Description> into it")
        if clark(root.uri, root.local) == DESCRIPTION:
            return self._node(root)
        hint = 'begin with <ip:IP xmlns:ip="' + INTEREST + '"> or <rdf:RDF xmlns:rdf="' + RDF + '">'
        raise self._error(f"an interest profile is no <{root.local}>", root, hint)

    def _all(self, root: Element, hint: str) -> Expression:
        if not root.children:
            raise self._error("the profile is empty", root, hint)
        return conjunction(self._conditions(root))

    def _conditions(self, element: Element) -> list[Expression]:
        """Those of the children; text between them has no meaning, so there must be none."""
        if text := collapsed(element.text):
            hint = f"write <ip:string-match>{text[:20]}</ip:string-match>"
            raise self._error(f"text stands right inside <{element.local}>", element, hint)
        return [self._condition(child) for child in element.children]

    def _condition(self, element: Element) -> Expression:
        if element.uri != self._interest and not has_operators(element.uri):
            return self._node(element)
        operator = self._operators.get(element.local.lower())
        if operator is None:
            close = get_close_matches(element.local.lower(), self._operators, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(self._operators)}"
            raise self._error(f"there is no operator {element.local!r}", element, hint)
        return operator(element)

    def _node(self, element: Element) -> Expression:
        """A node of this name, with everything that is asked below it."""
        asked: list[Expression] = [
            has(self._name(uri, local, element), Text(collapsed(value))) for uri, local, value in element.attributes
        ]
        asked += [self._condition(child) for child in element.children]
        if text := collapsed(element.text):
            asked.append(Text(text))
        return has(self._name(element.uri, element.local, element), conjunction(asked))

    def _name(self, uri: str, local: str, element: Element) -> str:
        if uri and not is_namespace(uri):
            raise self._error(f"{uri!r} cannot be a namespace", element, "write it without blanks, braces and quotes")
        if has_operators(uri):
            raise self._error(f"{local!r} is an attribute in a namespace of operators", element, "drop its prefix")
        return clark(uri, local)

    def _not(self, element: Element) -> Expression:
        if not element.children:
            raise self._error("Not has nothing to deny", element, "put what must not be into it")
        return negation(conjunction(self._conditions(element)))

    def _string_match(self, element: Element) -> Expression:
        if element.children or element.attributes:
            raise self._error("string-match holds text alone", element, "as in <ip:string-match>Jazz</ip:string-match>")
        return Text(collapsed(element.text))

    def _range(self, element: Element) -> Expression:
        low, high = BOTTOM, TOP
        for local, value in self._numbers(element, _LIMITS, 'as in <ip:range min="10" below="20"/>').items():
            is_low, side = _LIMITS[local]
            cut: Cut = (value, side)
            low, high = (max(low, cut), high) if is_low else (low, min(high, cut))
        return between(low, high)

    def _distance(self, element: Element) -> Expression:
        usage = 'as in <ip:distance within="10" units="mile" latitude="40" longitude="-74.4"/>'
        units = next((value for _, local, value in element.attributes if local == "units"), KM)
        if units not in UNITS:
            raise self._error(f"{units!r} is no unit of distance", element, f"there are {', '.join(UNITS)}")
        found = self._numbers(element, ("within", "latitude", "longitude"), usage, skip="units")
        if len(found) < 3:
            raise self._error("a distance is within so much of a latitude and a longitude", element, usage)
        within_km = found["within"] * UNITS[units]
        if problem := off_the_globe(within_km, found["latitude"], found["longitude"]):
            raise self._error(problem, element, usage)
        return Distance(within_km, found["latitude"], found["longitude"])

    def _numbers(
        self, element: Element, known: dict[str, tuple[bool, int]] | tuple[str, ...], usage: str, skip: str = ""
    ) -> dict[str, float]:
        if element.children or collapsed(element.text):
            raise self._error(f"{element.local} is all attributes", element, usage)
        found: dict[str, float] = {}
        for _, local, value in element.attributes:
            if local == skip:
                continue
            if local not in known:
                raise self._error(f"{element.local} has no {local!r}", element, f"it has {', '.join(known)}")
            parsed = number(collapsed(value))
            if parsed is None:
                raise self._error(f"{local} is {value!r}, which is no number", element, usage)
            found[local] = parsed
        return found

    def _error(self, message: str, element: Element, hint: str) -> ProfileError:
        at = markup.place(self._text, element.byte)
        length = max(1, self._text.find(">", at) + 1 - at)
        return ProfileError(message, self._text, at, length=length, hint=hint)


def off_the_globe(within: float, latitude: float, longitude: float) -> str | None:
    """What is wrong with a distance, if anything."""
    if within < 0 or not math.isfinite(within):
        return "a distance is a number from 0 on"
    if not (abs(latitude) <= 90 and abs(longitude) <= 180):
        return "latitudes are from -90 to 90, longitudes from -180 to 180"
    return None


def to_xml(expression: Expression) -> str:
    """The profile as XML, in the style of Figure 3.4 where it asks for one description, else of Figure 5.2."""
    writer = _Writer()
    if isinstance(expression, Has) and expression.name == DESCRIPTION:
        root, items = "ip:IP", _items(expression.condition)
    else:
        root, items = "rdf:RDF", _items(expression)
    for item in items:
        writer.write(item, 1)
    spaces = "".join(f" xmlns:{prefix}={quoteattr(uri)}" for uri, prefix in writer.prefixes.items())
    return "\n".join([f"<{root}{spaces}>", *writer.lines, f"</{root}>"]) + "\n"


def _items(expression: Expression) -> tuple[Expression, ...]:
    """What stands right inside an element: all of it is asked for. Nothing at all is said by an operator."""
    return expression.items if isinstance(expression, And) and expression.items else (expression,)


class _Writer:
    def __init__(self) -> None:
        self.prefixes = {INTEREST: "ip", RDF: "rdf"}
        self.lines: list[str] = []

    def write(self, expression: Expression, depth: int) -> None:
        match expression:
            case Has(name, condition):
                self._block(self._tag(name), () if condition == And(()) else _items(condition), depth)
            case And(items):
                self._block("ip:And", items, depth)
            case Or(items):
                self._block("ip:Or", items, depth)
            case Not(item):
                self._block("ip:Not", (item,), depth)
            case Text(value):
                self._line(f"<ip:string-match>{escape(value)}</ip:string-match>", depth)
            case Range(low, high):
                self._line(f"<ip:range{_limits(low, high)}/>", depth)
            case Distance(within_km, latitude, longitude):
                place = f'latitude="{latitude!r}" longitude="{longitude!r}"'
                self._line(f'<ip:distance within="{within_km!r}" units="km" {place}/>', depth)

    def _tag(self, name: str) -> str:
        uri, local = split(name)
        return f"{self.prefixes.setdefault(uri, f'n{len(self.prefixes) - 1}')}:{local}" if uri else local

    def _block(self, tag: str, items: tuple[Expression, ...], depth: int) -> None:
        if not items:
            self._line(f"<{tag}/>", depth)
            return
        self._line(f"<{tag}>", depth)
        for item in items:
            self.write(item, depth + 1)
        self._line(f"</{tag}>", depth)

    def _line(self, text: str, depth: int) -> None:
        self.lines.append("  " * depth + text)


def _limits(low: Cut, high: Cut) -> str:
    ends = [(low, "min" if low[1] == 0 else "above"), (high, "max" if high[1] == 1 else "below")]
    return "".join(f' {name}="{value!r}"' for (value, _), name in ends if math.isfinite(value))
