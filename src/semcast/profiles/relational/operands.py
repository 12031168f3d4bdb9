"""The operands of relational profiles: attributes and literals, read from tokens.

Everything that can be said of an operand alone is decided here, with its place: unknown attributes,
literals that are none, functions that there are not.
"""

from __future__ import annotations

from typing import NamedTuple

from semcast.model import Kind, ProfileError, Schema
from semcast.profiles.relational.lexer import Token, tokenize
from semcast.profiles.relational.literals import moment, number
from semcast.profiles.relational.syntax import RESERVED, Attribute, Distance, Literal

MAX_DEPTH = 100
_TYPED = {"TIMESTAMP": "timestamp", "TIMESTAMP_NTZ": "timestamp", "TIMESTAMP_LTZ": "timestamp", "DATE": "date"}
_ARITHMETIC = "arithmetic is not part of the profile language"


class Operand(NamedTuple):
    """An attribute or a literal, and where it stands."""

    attribute: Attribute | None
    literal: Literal | None
    start: int
    end: int


class OperandParser:
    """A cursor over the tokens of a profile that reads operands."""

    def __init__(self, text: str, schema: Schema | None) -> None:
        self.text = text
        self.schema = schema
        self.tokens = tokenize(text)
        self.at = 0
        self.depth = 0

    def operand(self) -> Operand:
        token = self.tokens[self.at]
        self.at += 1
        operand: Operand | None = None
        if token.type == "STRING":
            operand = Operand(None, Literal(Kind.STRING, token.value), token.start, token.end)
        elif token.type == "NUMBER":
            operand = self.number(token, 1, token.start)
        elif token.type == "NAME":
            operand = self.attribute(token)
        elif token.type == "WORD":
            operand = self.word(token)
        elif token.value in ("-", "+") and token.type == "OP":
            digits = self.tokens[self.at]
            if digits.type != "NUMBER":
                raise self.error("a sign stands before a number only", token, _ARITHMETIC)
            self.at += 1
            operand = self.number(digits, -1 if token.value == "-" else 1, token.start)
        elif token.value == "(" and token.type == "OP":
            self.enter(token)
            operand = self.operand()
            self.depth -= 1
            self.expect_operator(")", opened=token)
        if operand is None:
            raise self.unexpected(token, "an attribute or a literal")
        following = self.tokens[self.at]
        if following.type == "OP" and following.value in ("+", "-"):
            raise self.error(_ARITHMETIC, following, "compute the value before you write the profile")
        return operand

    def number(self, token: Token, sign: int, start: int) -> Operand:
        if token.value[-1] in "fF":
            raise self.error("32-bit literals are not supported", token, f"write {token.value[:-1]}")
        value = number(token.value)
        if value is None:
            raise self.error("the number is beyond the range of doubles", token)
        return Operand(None, Literal(Kind.NUMBER, sign * value), start, token.end)

    def word(self, token: Token) -> Operand | None:
        word = token.value.upper()
        following = self.tokens[self.at]
        if word in _TYPED and following.type == "STRING":
            self.at += 1
            return self.typed(following, _TYPED[word], token.start, following.end)
        if word in ("TRUE", "FALSE"):
            return Operand(None, Literal(Kind.BOOLEAN, word == "TRUE"), token.start, token.end)
        if word == "NULL":
            return Operand(None, Literal(None, None), token.start, token.end)
        if following.type == "LIST" or (following.type == "OP" and following.value == "("):
            return self.call(token)
        return None if token.value.lower() in RESERVED else self.attribute(token)

    def typed(self, token: Token, form: str, start: int, end: int) -> Operand:
        value = moment(token.value)
        if value is None:
            example = "2024-03-01" if form == "date" else "2024-03-01 09:30:00"
            raise self.error(f"this is no {form}", token, f"write it as '{example}'")
        if form == "date":
            value -= value % 86_400_000_000
        return Operand(None, Literal(Kind.TIMESTAMP, value), start, end)

    def call(self, token: Token) -> Operand:
        name = token.value.lower()
        self.at += 1
        if name == "cast":
            return self.cast(token)
        if name != "geo_distance_km":
            raise self.error(f"function {token.value!r} is not supported", token, "the one function is geo_distance_km")
        arguments = [self.operand()]
        while self.operator(","):
            arguments.append(self.operand())
        closing = self.expect_operator(")")
        usage = "write geo_distance_km(latitude, longitude, 52.5, 13.4)"
        if len(arguments) != 4:
            raise self.error(f"geo_distance_km takes four arguments, not {len(arguments)}", token, usage)
        names = [a.attribute for a in arguments[:2]]
        center = [a.literal.value for a in arguments[2:] if a.literal and a.literal.kind is Kind.NUMBER]
        if not all(isinstance(n, str) for n in names) or len(center) != 2:
            raise self.error("geo_distance_km takes two attributes, then two numbers", token, usage)
        latitude, longitude = (float(v) for v in center if v is not None)
        if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
            raise self.error("the centre is not on the globe", token, "latitude ±90 comes before longitude ±180")
        zero = Operand(None, Literal(Kind.NUMBER, 0), token.start, closing.end)
        for argument in arguments[:2]:
            self.check_kind(argument, zero)
        distance = Distance(str(names[0]), str(names[1]), latitude + 0.0, longitude + 0.0)
        return Operand(distance, None, token.start, closing.end)

    def cast(self, token: Token) -> Operand:
        value = self.tokens[self.at]
        target = self.tokens[self.at + 2] if value.type == "STRING" else value
        form = _TYPED.get(target.value.upper())
        if value.type != "STRING" or self.tokens[self.at + 1].value.upper() != "AS" or form is None:
            raise self.error("CAST takes a string as TIMESTAMP or DATE here", token)
        self.at += 3
        closing = self.expect_operator(")")
        return self.typed(value, form, token.start, closing.end)

    def attribute(self, token: Token) -> Operand:
        parts, end = [token.value], token.end
        while self.tokens[self.at].value == "." and self.tokens[self.at].type == "OP":
            part = self.tokens[self.at + 1]
            if part.type not in ("WORD", "NAME"):
                raise self.unexpected(part, "a field's name after the dot")
            parts.append(part.value)
            end = part.end
            self.at += 2
        name = ".".join(parts)
        if self.schema is not None and name not in self.schema:
            near = self.schema.nearest(name)
            raise ProfileError(
                f"unknown attribute {name!r}", self.text, token.start, length=end - token.start,
                hint=f"did you mean {near!r}?" if near else f"known: {', '.join(list(self.schema)[:12])}",
            )  # fmt: skip
        return Operand(name, None, token.start, end)

    def check_kind(self, left: Operand, right: Operand) -> None:
        if self.schema is None or right.literal is None or right.literal.kind is None or not left.attribute:
            return
        known = Kind.NUMBER if isinstance(left.attribute, Distance) else self.schema[left.attribute]
        if known is not right.literal.kind:
            hint = None
            if known is Kind.TIMESTAMP and right.literal.kind is Kind.STRING:
                hint = f"write TIMESTAMP '{right.literal.value}'"
            elif known is Kind.STRING:
                hint = "put it in quotes"
            raise ProfileError(
                f"{left.attribute} is a {known}, and this is a {right.literal.kind}", self.text, right.start,
                length=right.end - right.start, hint=hint,
            )  # fmt: skip

    # -- the cursor

    def enter(self, token: Token) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"the profile is nested deeper than {MAX_DEPTH} levels", token)

    def keyword(self, word: str) -> bool:
        token = self.tokens[self.at]
        if token.type == "WORD" and token.value.upper() == word:
            self.at += 1
            return True
        return False

    def operator(self, op: str) -> bool:
        token = self.tokens[self.at]
        if token.type == "OP" and token.value == op:
            self.at += 1
            return True
        return False

    def expect_keyword(self, word: str) -> None:
        if not self.keyword(word):
            raise self.unexpected(self.tokens[self.at], word)

    def expect_operator(self, op: str, opened: Token | None = None) -> Token:
        token = self.tokens[self.at]
        if not self.operator(op):
            if opened is not None and token.type == "END":
                raise self.error("the parenthesis is not closed", opened, "add the closing )")
            raise self.unexpected(token, f"'{op}'")
        return token

    def error(self, message: str, token: Token, hint: str | None = None) -> ProfileError:
        length = max(1, token.end - token.start)
        return ProfileError(message, self.text, token.start, length=length, hint=hint)

    def unexpected(self, token: Token, wanted: str) -> ProfileError:
        if token.type == "LIST":
            token = Token("OP", "(", token.start, token.start + 1)
        found = "the profile ends" if token.type == "END" else f"unexpected {self.text[token.start : token.end]!r}"
        return self.error(f"{found} where {wanted} should stand", token)
