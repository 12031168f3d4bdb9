"""An interest profile as a value: what was written, and the expression it means."""

from __future__ import annotations

import re
from collections.abc import Mapping

from semcast.model import ProfileError
from semcast.profiles.semantic.markup import MAX_TEXT
from semcast.profiles.semantic.names import DESCRIPTION
from semcast.profiles.semantic.notation import from_notation
from semcast.profiles.semantic.syntax import Expression, Has, Or, has
from semcast.profiles.semantic.writing import to_line, to_notation
from semcast.profiles.semantic.xml_form import from_xml, to_xml

_XML = re.compile("\ufeff?[ \t\r\n]*<[^ \t\r\n=0-9.+-]")  # no comparison with a number, which is short notation


class InterestProfile:
    """A consumer's interest: the text as written and its expression (the normal form).

    Two profiles are equal when their expressions are, however they were written.
    """

    __slots__ = ("expression", "text")

    def __init__(self, text: str, expression: Expression) -> None:
        self.text = text
        self.expression = expression

    @staticmethod
    def of(expression: Expression) -> InterestProfile:
        """A profile that nobody wrote."""
        return InterestProfile("", expression)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InterestProfile) and self.expression == other.expression

    def __hash__(self) -> int:
        return hash(self.expression)

    def __reduce__(self) -> tuple[object, ...]:
        return InterestProfile, (self.text, self.expression)

    def __str__(self) -> str:
        return to_line(self.expression)

    def __repr__(self) -> str:
        return f"InterestProfile({str(self)!r})"

    def xml(self) -> str:
        """As the thesis writes profiles; reads back to an equal profile."""
        return to_xml(self.expression)

    def notation(self) -> str:
        """In lines for people; reads back to an equal profile."""
        return to_notation(self.expression)


def parse(text: str, namespaces: Mapping[str, str] | None = None) -> InterestProfile:
    """Read a profile in XML or, where it does not begin with ``<``, in the short notation.

    Raises ProfileError, and nothing else, for what is no profile. ``namespaces`` are prefixes for the short notation.
    """
    if not isinstance(text, str):
        raise ProfileError(f"a profile is text, not {type(text).__name__}")
    if len(text) > MAX_TEXT:
        raise ProfileError(f"the profile has {len(text):,} characters", hint=f"at most {MAX_TEXT:,} are accepted")
    try:
        is_xml = _XML.match(text) is not None
        found = InterestProfile(text, from_xml(text) if is_xml else from_notation(text, namespaces))
        if len(text) > MAX_TEXT // 8 and len(str(found)) > MAX_TEXT:
            raise ProfileError("the profile's canonical text is too long", hint=f"at most {MAX_TEXT:,} characters")
        return found
    except RecursionError:  # the caller's stack was nearly used up
        raise ProfileError("the profile is nested too deeply", text) from None


def parts(profile: InterestProfile) -> list[str]:
    """The alternatives of a profile, for people: it matches where any of them holds."""
    expression = profile.expression
    if isinstance(expression, Has) and expression.name == DESCRIPTION:
        condition = expression.condition
        return [
            to_line(has(DESCRIPTION, item)) for item in (condition.items if isinstance(condition, Or) else [condition])
        ]
    return [to_line(item) for item in (expression.items if isinstance(expression, Or) else [expression])]
