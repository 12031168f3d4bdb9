"""Tokens of a relational profile, with Spark's rules for literals.

One compiled expression does the scanning: it is most of what makes parsing thousands of profiles per
second possible in Python.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from semcast.model import ProfileError
from semcast.profiles.relational.literals import number

MAX_TEXT_BYTES = 1 << 21
"""Room for 100,000 values of 18 characters."""
MAX_TOKENS = 1 << 18
"""Words, signs and literals; a plain list of IN counts as two, however long it is."""


class Token(NamedTuple):
    """``type`` is WORD, NAME (back-quoted), NUMBER, STRING, LIST, OP or END; ``value`` is decoded.

    A LIST is all that stands in parentheses after ``IN``, as written, where that is plain: one token instead of
    two per value makes long lists five times cheaper.
    """

    type: str
    value: str
    start: int
    end: int


# Possessive (*+, ++): what has been read is never read again in another way, so a text costs its length.
_STRING = r"""'(?:[^'\\]++|\\.|'')*+'"""
_PLAIN_NUMBER = r"[+-]?(?:[0-9]{1,300}+(?:\.[0-9]*+)?+|\.[0-9]++)(?![\w.])"  # none is beyond the range of doubles
_TOKEN = re.compile(
    rf"""\s*(?:
      (?P<LIST>   [iI][nN]\s*+(?:
                    \(\s*+{_STRING}(?:\s*+,\s*+{_STRING})*+\s*+\)
                  | \(\s*+{_PLAIN_NUMBER}(?:\s*+,\s*+{_PLAIN_NUMBER})*+\s*+\) ) )
    | (?P<WORD>   (?![rR]['"])[^\W\d]\w* )
    | (?P<OP>     <=> | <= | >= | <> | != | == | [=<>(),.+!](?!(?<=\.)[0-9]) | -(?!-) )
    | (?P<NUMBER> (?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+(?:[lLsSyYdDfF]|[bB][dD])?(?!\w) )
    | (?P<STRING> [rR]?{_STRING} | [rR]?"(?:[^"\\]++|\\.|"")*+" )
    | (?P<NAME>   `(?:[^`]++|``)++` )
    | (?P<SKIP>   --[^\n]* | /\*.*?\*/ | \Z )
    )""",
    re.VERBOSE | re.DOTALL,
)
_STRINGS, _NUMBERS = re.compile(_STRING, re.DOTALL), re.compile(_PLAIN_NUMBER)
_ITEM_STRING = re.compile(r"\(\s*'")
_ESCAPE = {
    quote: re.compile(rf"\\(u[0-9a-fA-F]{{4}}|U[0-9a-fA-F]{{8}}|[0-3][0-7]{{2}}|.)|{quote}{quote}", re.DOTALL)
    for quote in "'\""
}
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def tokenize(text: str) -> list[Token]:
    """Split ``text`` into tokens, the last of them END; raise ProfileError at what is no token."""
    _check_size(text)
    new = tuple.__new__  # a third of what Token(...) costs, and this is a parser's innermost loop
    tokens: list[Token] = []
    position = 0
    # Each match begins where the last one ended. Where no token is, a search would try all later places, and some
    # tokens are sought to the end of the text from each: 1 MB of unclosed comments would take hours.
    for found in islice(iter(_TOKEN.scanner(text).match, None), MAX_TOKENS):  # type: ignore[attr-defined]
        kind = found.lastgroup
        assert kind is not None
        start, position = found.span(kind)
        if kind == "SKIP":
            continue
        value = found[kind]
        if kind == "STRING":
            value = _unquote(value, text, start)
        elif kind == "NAME":
            value = value[1:-1].replace("``", "`")
        elif kind == "LIST":
            tokens.append(new(Token, ("WORD", value[:2], start, start + 2)))
            value = value[2:].lstrip()
            start = position - len(value)
        tokens.append(new(Token, (kind, value, start, position)))
    if len(tokens) >= MAX_TOKENS:
        raise ProfileError(
            f"the profile has more than {MAX_TOKENS:,} words and signs", text, position - 1,
            hint="split it into several profiles of one subscriber, or write IN for alternatives",
        )  # fmt: skip
    if position != len(text):
        raise _bad_character(text, len(text) - len(text[position:].lstrip()))
    tokens.append(Token("END", "", len(text), len(text)))
    return tokens


def items(token: Token, text: str) -> tuple[Token, Sequence[str | int | float]]:
    """The first of a LIST as a token, and the values of all."""
    strings = _ITEM_STRING.match(token.value) is not None
    find = _STRINGS if strings else _NUMBERS
    first = find.search(text, token.start)
    assert first is not None
    head = Token("STRING" if strings else "NUMBER", first[0], *first.span())
    if not strings and "." not in token.value:
        return head, list(map(int, find.findall(token.value)))
    if not strings:
        return head, [_signed(item) for item in find.findall(token.value)]
    if "\\" in token.value or "''" in token.value:
        found = find.finditer(text, token.start, token.end)
        return head, [_unquote(item[0], text, item.start()) for item in found]
    return head, [item[1:-1] for item in find.findall(token.value)]


def _signed(written: str) -> int | float:
    value = number(written.lstrip("+-"))
    assert value is not None
    return -value if written[0] == "-" else value


def _check_size(text: str) -> None:
    if not isinstance(text, str):
        raise ProfileError(f"a profile is text, not {type(text).__name__}")
    if len(text) > MAX_TEXT_BYTES:
        raise ProfileError(
            f"the profile is {len(text):,} characters long; at most {MAX_TEXT_BYTES:,} are accepted",
            hint="split it into several profiles of one subscriber",
        )
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ProfileError("the profile holds half a surrogate pair", text, error.start) from None


def _unquote(raw: str, text: str, start: int) -> str:
    if raw[0] in "rR":
        return raw[2:-1]
    quote, body = raw[0], raw[1:-1]
    if "\\" not in body and quote not in body:
        return body
    try:
        value = _ESCAPE[quote].sub(lambda m: _escaped(m[1]) if m[1] else quote, body)
        value.encode()
    except (ValueError, OverflowError):
        raise ProfileError("the string holds an escape that is no character", text, start, length=len(raw)) from None
    return value


def _escaped(code: str) -> str:
    if len(code) == 1:
        return _ESCAPES.get(code, code)
    return chr(int(code, 8)) if code[0].isdigit() else chr(int(code[1:], 16))


def _bad_character(text: str, position: int) -> ProfileError:
    character = text[position]
    if character in "'\"":
        return ProfileError("the string is not closed", text, position, hint=f"add the closing {character}")
    if character == "`":
        return ProfileError("the name is not closed", text, position, hint="add the closing `")
    if text.startswith("/*", position):
        return ProfileError("the comment is not closed", text, position, length=2, hint="add the closing */")
    if character.isdigit():
        word = re.match(r"[\w.]+", text[position:])
        length = len(word[0]) if word else 1
        return ProfileError("this is neither a number nor a name", text, position, length=length)
    hint = _FOREIGN.get(character)
    return ProfileError(f"unexpected character {character!r}", text, position, hint=hint)


_FOREIGN = {
    "&": "write AND",
    "|": "write OR",
    ";": "a profile is one condition, without a closing semicolon",
    "*": "arithmetic is not part of the profile language",
    "/": "arithmetic is not part of the profile language",
    "%": "arithmetic is not part of the profile language",
}
