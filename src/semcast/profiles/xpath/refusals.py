"""What XPath has and profiles have not: each refused by its name, with what to write instead."""

from __future__ import annotations

from semcast.model import ProfileError
from semcast.profiles.xpath.lexer import Token

_REVERSE = {"parent", "ancestor", "ancestor-or-self", "preceding", "preceding-sibling"}
_AXES = {
    "child": "write the name alone",
    "attribute": "write '@name'",
    "descendant": "write '//name'",
    "descendant-or-self": "write '//'",
    "self": "write '.'",
}
_FUNCTIONS = {
    "position": "profiles have no positions",
    "last": "profiles have no positions",
    "count": "profiles have no numbers but literals",
    "sum": "profiles have no numbers but literals",
    "string": "a comparison takes the text of a path by itself",
    "number": "comparing with a number takes a path as one",
    "true": "leave it out",
    "false": "leave it out",
}
_NODE_TESTS = {
    "node": "write '*' for elements, 'text()' for text",
    "comment": "comments are no part of a message",
    "processing-instruction": "processing instructions are no part of a message",
}
_KNOWN = ("contains", "starts-with", "not", "boolean")


def check_function(text: str, name: Token) -> None:
    """Refuse a call of what profiles do not have."""
    if name.value not in _KNOWN:
        hint = _FUNCTIONS.get(name.value, f"there is {', '.join(f'{known}()' for known in _KNOWN)} and text()")
        raise _refused(text, name, f"the function {name.value}() is not supported", hint)


def check_node_test(text: str, name: Token) -> None:
    if name.value in _NODE_TESTS:
        raise _refused(text, name, f"{name.value}() is not supported", _NODE_TESTS[name.value])


def check_operator(text: str, token: Token) -> None:
    """Refuse an operator that stands where only a comparison, ``and`` or ``or`` may."""
    if token.type == "NAME" and token.value in ("div", "mod"):
        raise _refused(text, token, f"arithmetic ({token.value}) is not supported", "compare with a literal")
    if token.type != "OP":
        return
    if token.value in ("+", "-", "*"):
        raise _refused(text, token, f"arithmetic ({token.value}) is not supported", "compare with a literal")
    if token.value == "|":
        raise _refused(text, token, "a union of paths is not supported", "write 'or' between conditions")
    if token.value == "..":
        raise _refused(text, token, "the reverse step '..' is not supported", "put a condition on what is above")
    if token.value == "$":
        raise _refused(text, token, "a variable is not supported", "write its value")


def no_axis(text: str, name: Token) -> ProfileError:
    if name.value in _REVERSE:
        return _refused(
            text, name, f"the reverse axis {name.value}:: is not supported", "put a condition on what is above"
        )
    hint = _AXES.get(name.value)
    return _refused(text, name, f"the axis {name.value}:: is not supported", hint)


def _refused(text: str, token: Token, message: str, hint: str | None) -> ProfileError:
    return ProfileError(message, text, token.start, length=token.end - token.start, hint=hint)
