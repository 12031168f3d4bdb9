"""Text of a relational profile → syntax tree.

A recursive-descent parser for the closed subset of Spark SQL that DESIGN §4 names. Every refusal
points at its place. Chains of AND and OR become one flat node, so a long chain needs no deep stack.
"""

from __future__ import annotations

from typing import NamedTuple

from semcast.model import Kind, ProfileError, Schema
from semcast.profiles.relational.lexer import Token, tokenize
from semcast.profiles.relational.likes import resolve_escape
from semcast.profiles.relational.literals import moment, number
from semcast.profiles.relational.syntax import (
    RESERVED,
    And,
    Attribute,
    Compare,
    Constant,
    Distance,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Not,
    NullSafeEqual,
    Or,
)

MAX_DEPTH = 100
_COMPARISONS = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<=>": "<=>"}
_TYPED = {"TIMESTAMP": "timestamp", "TIMESTAMP_NTZ": "timestamp", "TIMESTAMP_LTZ": "timestamp", "DATE": "date"}
_ARITHMETIC = "arithmetic is not part of the profile language"


class Operand(NamedTuple):
    """An attribute or a literal, and where it stands."""

    attribute: Attribute | None
    literal: Literal | None
    start: int
    end: int


def parse_syntax(text: str, schema: Schema | None = None) -> Node:
    """Parse ``text``; against a ``schema`` unknown attributes and clashes of kinds are errors."""
    return _Parser(text, schema).parse()


class _Parser:
    def __init__(self, text: str, schema: Schema | None) -> None:
        self.text = text
        self.schema = schema
        self.tokens = tokenize(text)
        self.at = 0
        self.depth = 0

    def parse(self) -> Node:
        if self.tokens[0].type == "END":
            raise ProfileError("the profile is empty", self.text, 0, hint="write TRUE to get every message")
        node = self.condition(self.disjunction())
        token = self.tokens[self.at]
        if token.type != "END":
            raise self.unexpected(token, "the end, AND or OR")
        return node

    # -- conditions

    def disjunction(self) -> Node | Operand:
        first = self.conjunction()
        if not self.keyword("OR"):
            return first
        items = [self.condition(first), self.condition(self.conjunction())]
        while self.keyword("OR"):
            items.append(self.condition(self.conjunction()))
        return Or(tuple(items))

    def conjunction(self) -> Node | Operand:
        first = self.negation()
        if not self.keyword("AND"):
            return first
        items = [self.condition(first), self.condition(self.negation())]
        while self.keyword("AND"):
            items.append(self.condition(self.negation()))
        return And(tuple(items))

    def negation(self) -> Node | Operand:
        token = self.tokens[self.at]
        if not (self.keyword("NOT") or self.operator("!")):
            return self.predicate()
        self.enter(token)
        node = Not(self.condition(self.negation()))
        self.depth -= 1
        return node

    def predicate(self) -> Node | Operand:
        left = self.primary()
        token = self.tokens[self.at]
        if not isinstance(left, Operand):
            if token.value in _COMPARISONS or token.value == "<=>" or token.value.upper() in ("IS", "IN", "LIKE"):
                raise self.error("a condition cannot be compared", token, "compare an attribute with a literal")
            return left
        if token.type == "OP":
            if token.value in _COMPARISONS or token.value == "<=>":
                return self.comparison(left, token)
            return left
        if token.type != "WORD":
            return left
        word = token.value.upper()
        if word == "IS":
            self.at += 1
            return self.is_predicate(left)
        negated = word == "NOT"
        if negated:
            self.at += 1
            word = self.tokens[self.at].value.upper()
        node = self.suffix(left, word)
        if node is None:
            if negated:
                raise self.unexpected(self.tokens[self.at], "BETWEEN, IN or LIKE")
            return left
        return Not(node) if negated else node

    def suffix(self, left: Operand, word: str) -> Node | None:
        if self.tokens[self.at].type != "WORD":
            return None
        if word == "BETWEEN":
            self.at += 1
            low = self.operand()
            self.expect_keyword("AND")
            high = self.operand()
            return And((self.compare(left, ">=", low), self.compare(left, "<=", high)))
        if word == "IN":
            self.at += 1
            return self.membership(left)
        if word == "LIKE":
            self.at += 1
            return self.like(left)
        if word in ("RLIKE", "REGEXP", "ILIKE"):
            raise self.error(f"{word} is not supported", self.tokens[self.at], "use LIKE with % and _")
        return None

    def comparison(self, left: Operand, token: Token) -> Node:
        self.at += 1
        right = self.operand()
        following = self.tokens[self.at]
        if following.type == "OP" and following.value in _COMPARISONS:
            raise self.error("comparisons cannot be chained", following, "join two of them with AND")
        return self.compare(left, _COMPARISONS.get(token.value, token.value), right)

    def compare(self, left: Operand, op: str, right: Operand) -> Node:
        if left.attribute is None:
            left, right, op = right, left, _MIRRORED[op]
        if left.attribute is None:
            return _constant(left.literal, op, right.literal)
        if right.literal is None:
            raise ProfileError(
                "two attributes cannot be compared with each other", self.text, right.start,
                length=right.end - right.start, hint="a profile compares an attribute with a literal",
            )  # fmt: skip
        self.check_kind(left, right)
        if op == "<=>":
            return NullSafeEqual(left.attribute, right.literal)
        return Compare(left.attribute, op, right.literal)

    def is_predicate(self, left: Operand) -> Node:
        negated = self.keyword("NOT")
        token = self.tokens[self.at]
        word = token.value.upper() if token.type == "WORD" else ""
        self.at += 1
        node: Node
        if word == "NULL":
            node = IsNull(left.attribute) if left.attribute else Constant(_literal(left).value is None)
        elif word in ("TRUE", "FALSE"):
            value = Operand(None, Literal(Kind.BOOLEAN, word == "TRUE"), token.start, token.end)
            node = self.compare(left, "<=>", value)
        elif word == "UNKNOWN":
            boolean = Operand(None, Literal(Kind.BOOLEAN, True), token.start, token.end)
            self.check_kind(left, boolean)
            node = IsNull(left.attribute) if left.attribute else Constant(_literal(left).value is None)
        elif word == "DISTINCT":
            self.expect_keyword("FROM")
            node = Not(self.compare(left, "<=>", self.operand()))
        else:
            raise self.unexpected(token, "NULL, TRUE, FALSE or DISTINCT FROM after IS")
        return Not(node) if negated else node

    def membership(self, left: Operand) -> Node:
        self.expect_operator("(")
        operands = [self.operand()]
        while self.operator(","):
            operands.append(self.operand())
        self.expect_operator(")")
        if left.attribute is None or any(o.literal is None for o in operands):
            return Or(tuple(self.compare(left, "=", o) for o in operands))
        for operand in operands:
            self.check_kind(left, operand)
        return In(left.attribute, tuple(_literal(o) for o in operands))

    def like(self, left: Operand) -> Node:
        operand = self.operand()
        length = operand.end - operand.start
        if operand.literal is None or operand.literal.kind not in (Kind.STRING, None):
            raise ProfileError("LIKE takes a string", self.text, operand.start, length=length)
        if left.attribute is None:
            raise ProfileError("LIKE is about an attribute", self.text, left.start, length=left.end - left.start)
        escape = "\\"
        if self.keyword("ESCAPE"):
            token = self.tokens[self.at]
            if token.type != "STRING" or len(token.value) != 1:
                raise self.unexpected(token, "one character in quotes after ESCAPE")
            self.at += 1
            escape = token.value
        self.check_kind(left, operand)
        if operand.literal.value is None:
            return Constant(None)
        pattern = resolve_escape(str(operand.literal.value), escape)
        if pattern is None:
            raise ProfileError(
                "the pattern's escape stands before a character that needs none", self.text, operand.start,
                length=length, hint=f"{escape} goes before %, _ or {escape}",
            )  # fmt: skip
        return Like(left.attribute, pattern)

    # -- operands

    def primary(self) -> Node | Operand:
        token = self.tokens[self.at]
        if token.value != "(" or token.type != "OP":
            return self.operand()
        self.at += 1
        self.enter(token)
        inner = self.disjunction()
        self.depth -= 1
        self.expect_operator(")", opened=token)
        return inner

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
        if following.type == "OP" and following.value == "(":
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
            raise self.error(
                f"function {token.value!r} is not supported", token, "the one function is geo_distance_km"
            )
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
        name, end = token.value, token.end
        while self.tokens[self.at].value == "." and self.tokens[self.at].type == "OP":
            part = self.tokens[self.at + 1]
            if part.type not in ("WORD", "NAME"):
                raise self.unexpected(part, "a field's name after the dot")
            name, end = f"{name}.{part.value}", part.end
            self.at += 2
        if self.schema is not None and name not in self.schema:
            near = self.schema.nearest(name)
            raise ProfileError(
                f"unknown attribute {name!r}", self.text, token.start, length=end - token.start,
                hint=f"did you mean {near!r}?" if near else f"known: {', '.join(list(self.schema)[:12])}",
            )  # fmt: skip
        return Operand(name, None, token.start, end)

    # -- small change

    def condition(self, found: Node | Operand) -> Node:
        if not isinstance(found, Operand):
            return found
        if found.attribute is not None:
            truth = Operand(None, Literal(Kind.BOOLEAN, True), found.start, found.end)
            return self.compare(found, "=", truth)
        literal = _literal(found)
        if literal.kind in (Kind.BOOLEAN, None):
            return Constant(None if literal.value is None else bool(literal.value))
        raise ProfileError(
            "a value alone is no condition", self.text, found.start,
            length=found.end - found.start, hint="compare it with an attribute",
        )  # fmt: skip

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
        found = "the profile ends" if token.type == "END" else f"unexpected {self.text[token.start : token.end]!r}"
        return self.error(f"{found} where {wanted} should stand", token)


def _literal(operand: Operand) -> Literal:
    assert operand.literal is not None
    return operand.literal


def _constant(left: Literal | None, op: str, right: Literal | None) -> Constant:
    """Fold a comparison of two literals, by the rules that hold for attributes."""
    assert left is not None and right is not None
    if op == "<=>" and (left.kind is None or right.kind is None):
        return Constant(left.kind is right.kind)
    if left.value is None or right.value is None or left.kind is not right.kind:
        return Constant(None)
    return Constant(compare_values(left.value, "=" if op == "<=>" else op, right.value))


def compare_values(a: object, op: str, b: object) -> bool:
    """``a op b`` for two values of one kind."""
    below, equal = a < b, a == b  # type: ignore[operator]
    return {"=": equal, "<>": not equal, "<": below, "<=": below or equal, ">": not (below or equal), ">=": not below}[op]
