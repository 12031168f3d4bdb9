"""Tokens of a relational profile, with Spark's rules for literals.

One compiled expression does the scanning: it is most of what makes parsing thousands of profiles per
second possible in Python.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from semcast.model import ProfileError

MAX_TEXT_BYTES = 1 << 20


class Token(NamedTuple):
    """``type`` is WORD, NAME (back-quoted), NUMBER, STRING, OP or END; ``value`` is decoded."""

    type: str
    value: str
    start: int
    end: int


_TOKEN = re.compile(
    r"""\s*(?:
      (?P<WORD>   (?![rR]['"])[^\W\d]\w* )
    | (?P<OP>     <=> | <= | >= | <> | != | == | [=<>(),.+!](?!(?<=\.)[0-9]) | -(?!-) )
    | (?P<NUMBER> (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?:[lLsSyYdDfF]|[bB][dD])?(?!\w) )
    | (?P<STRING> [rR]?'(?:[^'\\]|\\.|'')*' | [rR]?"(?:[^"\\]|\\.|"")*" )
    | (?P<NAME>   `(?:[^`]|``)+` )
    | (?P<SKIP>   --[^\n]* | /\*.*?\*/ | \Z )
    )""",
    re.VERBOSE | re.DOTALL,
)
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
    for found in _TOKEN.finditer(text):
        if found.start() != position:
            break
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
        tokens.append(new(Token, (kind, value, start, position)))
    if position != len(text):
        raise _bad_character(text, len(text) - len(text[position:].lstrip()))
    tokens.append(Token("END", "", len(text), len(text)))
    return tokens


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
