"""The short notation's tokens: words and signs, with line breaks and indentation turned into blocks.

``{``, ``;`` and ``}`` are what a deeper line, another line and a less deep line stand for, so a profile can be
written over many lines or in one, and the parser knows one way only.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from semcast.model import ProfileError
from semcast.profiles.semantic.markup import MAX_BLOCKS, MAX_CONDITIONS
from semcast.profiles.semantic.names import unfit

_TOKEN = re.compile(
    r"""(?P<BLANK>[ \t\f\r]+)
    | (?P<STRING>"(?:[^"\\\n]|\\.)*")
    | (?P<URI><[^<>\s]+>)
    | (?P<SIGN><=|>=|[{};|=<>])
    | (?P<NAME>Q\{[^{}\s]*\}[^\s{};|=<>"]+)
    | (?P<WORD>[^\s{};|=<>"]+)""",
    re.VERBOSE,
)
END = "END"


class Token(NamedTuple):
    type: str  # STRING, URI, SIGN, NAME, WORD or END
    value: str
    start: int
    length: int


def tokenize(text: str) -> list[Token]:
    """All tokens and an END; ProfileError for what is none, for broken indentation, and beyond the bounds."""
    if bad := unfit(text):
        code = f"U+{ord(bad[0]):04X}"
        raise ProfileError(f"the profile holds {code}, which no XML can", text, bad.start(), hint="remove it")
    lines = _Lines(text)
    start = 0
    for line in text.split("\n"):
        lines.add(line, start)
        start += len(line) + 1
    return lines.done()


class _Lines:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[Token] = []
        self._indents: list[str] = []

    def add(self, line: str, start: int) -> None:
        content = line.lstrip(" \t\f\r")
        if not content or content.startswith("#"):
            return
        self._indent(line[: len(line) - len(content)], start)
        at = len(line) - len(content)
        while at < len(line):
            found = _TOKEN.match(line, at)
            if found is None:
                hint = 'close the text with a quote, as in "Jazz"' if line[at] == '"' else None
                raise ProfileError(f"{line[at]!r} is not understood here", self._text, start + at, hint=hint)
            if found.lastgroup != "BLANK":
                self._tokens.append(Token(str(found.lastgroup), found[0], start + at, len(found[0])))
            at = found.end()
        if len(self._tokens) > 8 * MAX_CONDITIONS:
            hint = f"at most {MAX_CONDITIONS:,} conditions are accepted"
            raise ProfileError("the profile is too long", self._text, start, hint=hint)

    def _indent(self, indent: str, start: int) -> None:
        at = start + len(indent)
        if not self._indents:
            self._indents = [indent]
        elif indent == self._indents[-1]:
            self._sign(";", at)
        elif indent.startswith(self._indents[-1]):
            self._indents.append(indent)
            self._sign("{", at)
        else:
            while indent != self._indents[-1]:
                self._indents.pop()
                if not self._indents:
                    raise ProfileError(
                        "this line fits no line above it", self._text, at, hint="indent it as far as one of them"
                    )
                self._sign("}", at)
            self._sign(";", at)
        if len(self._indents) > MAX_BLOCKS:
            raise ProfileError(f"the profile is nested deeper than {MAX_BLOCKS} levels", self._text, at)

    def _sign(self, sign: str, at: int) -> None:
        self._tokens.append(Token("SIGN", sign, at, 1))

    def done(self) -> list[Token]:
        end = max(0, len(self._text) - 1)
        for _ in self._indents[1:]:
            self._sign("}", end)
        return [*self._tokens, Token(END, "", end, 1)]
