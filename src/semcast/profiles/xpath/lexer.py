"""Tokens of an XPath profile."""

from __future__ import annotations

import re
from typing import NamedTuple

from semcast.model import ProfileError

MAX_TEXT = 1 << 16
"""Characters of a profile's text."""


class Token(NamedTuple):
    """``type`` is NAME, NUMBER, STRING, OP or END; the value of a STRING has no quotes."""

    type: str
    value: str
    start: int
    end: int


_START = (
    "A-Za-z_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME = rf"[{_START}][{_START}\-.0-9\u00b7\u0300-\u036f\u203f-\u2040]*"
# A name is one token with its prefix, and Q{uri}local with its namespace: nothing may stand between the parts.
_TOKEN = re.compile(
    rf"""[ \t\r\n]*(?:
      (?P<NAME>   Q\{{[^{{}}]*\}}(?:{_NAME}|\*) | {_NAME}(?::(?:{_NAME}|\*))? )
    | (?P<NUMBER> [0-9]+(?:\.[0-9]*)?|\.[0-9]+ )
    | (?P<STRING> '[^']*' | "[^"]*" )
    | (?P<OP>     // | \.\. | :: | != | <= | >= | [/.@*=<>()\[\],|+\-$] )
    | (?P<SKIP>   \Z )
    )""",
    re.VERBOSE,
)
_UNFIT = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def tokenize(text: str) -> list[Token]:
    """Split ``text`` into tokens, the last of them END; raise ProfileError at what is no token."""
    _check(text)
    tokens: list[Token] = []
    position = 0
    for found in _TOKEN.finditer(text):
        if found.start() != position:
            break
        kind = found.lastgroup
        assert kind is not None
        start, position = found.span(kind)
        if kind != "SKIP":
            value = found[kind]
            tokens.append(Token(kind, value[1:-1] if kind == "STRING" else value, start, position))
    if position != len(text):
        raise _no_token(text, len(text) - len(text[position:].lstrip(" \t\r\n")))
    tokens.append(Token("END", "", len(text), len(text)))
    return tokens


def _check(text: str) -> None:
    if not isinstance(text, str):
        raise ProfileError(f"a profile is text, not {type(text).__name__}")
    if len(text) > MAX_TEXT:
        raise ProfileError(
            f"the profile is {len(text):,} characters long; at most {MAX_TEXT:,} are accepted",
            hint="split it into several profiles of one subscriber",
        )
    unfit = _UNFIT.search(text)
    if unfit is not None:
        code = f"U+{ord(unfit[0]):04X}"
        raise ProfileError(f"the profile holds {code}, which no XML can hold", text, unfit.start(), hint="remove it")


def _no_token(text: str, position: int) -> ProfileError:
    character = text[position]
    if character in "'\"":
        return ProfileError("the string is not closed", text, position, hint=f"add the closing {character}")
    hint = {
        "&": "write 'and'",
        "!": "write 'not(...)' or '!='",
        ":": "a prefix stands right before its name, as in 'p:name'",
        ";": "a profile is one expression, without a closing semicolon",
    }.get(character)
    return ProfileError(f"unexpected character {character!r}", text, position, hint=hint)
