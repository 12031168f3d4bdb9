"""Text of a relational profile → syntax tree.

A recursive-descent parser for the closed subset of Spark SQL that docs/relational.md lists. Every refusal
points at its place. Chains of AND and OR become one flat node, so a long chain needs no deep stack.
"""

from __future__ import annotations

from itertools import repeat

from semcast.model import Kind, ProfileError, Schema
from semcast.profiles.relational.lexer import Token, items
from semcast.profiles.relational.likes import MAX_PATTERN_TEXT, MAX_PATTERNS, bounds, refusal, resolve_escape
from semcast.profiles.relational.operands import Operand, OperandParser
from semcast.profiles.relational.ranges import comparison
from semcast.profiles.relational.syntax import (
    And,
    Compare,
    Constant,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Not,
    NullSafeEqual,
    Or,
)

_COMPARISONS = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<=>": "<=>"}


def parse_syntax(text: str, schema: Schema | None = None) -> Node:
    """Parse ``text``; against a ``schema`` unknown attributes and clashes of kinds are errors."""
    return _Parser(text, schema).parse()


class _Parser(OperandParser):
    def __init__(self, text: str, schema: Schema | None) -> None:
        super().__init__(text, schema)
        self.patterns = 0
        self.pattern_text = 0

    def parse(self) -> Node:
        if self.tokens[0].type == "END":
            raise ProfileError("the profile is empty", self.text, 0, hint="write TRUE to get every message")
        node = self.condition(self.disjunction())
        token = self.tokens[self.at]
        if token.type != "END":
            raise self.unexpected(token, "the end, AND or OR")
        return node

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
        token = self.tokens[self.at]
        if token.type == "LIST":
            self.at += 1
            return self.plain_membership(left, token)
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

    def plain_membership(self, left: Operand, token: Token) -> Node:
        """``IN`` with strings only, or numbers only: what can be wrong with one of them is wrong with the first."""
        first, values = items(token, self.text)
        kind = Kind.STRING if first.type == "STRING" else Kind.NUMBER
        literals = tuple(map(Literal, repeat(kind), values))
        if left.attribute is None:
            return Or(tuple(_constant(literal, "=", left.literal) for literal in literals))
        self.check_kind(left, Operand(None, literals[0], first.start, first.end))
        return In(left.attribute, literals)

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
        self.check_pattern(pattern, operand)
        return Like(left.attribute, pattern)

    def check_pattern(self, pattern: str, operand: Operand) -> None:
        """Refuse what would be costly to match, or to compare with the other patterns."""
        refused = refusal(pattern)
        if refused is None and not bounds(pattern)[1]:
            self.patterns += 1
            self.pattern_text += len(pattern)
            if self.patterns > MAX_PATTERNS:
                refused = f"the profile has more than {MAX_PATTERNS} patterns", "split it into several profiles"
            elif self.pattern_text > MAX_PATTERN_TEXT:
                refused = (
                    f"the profile's patterns are longer than {MAX_PATTERN_TEXT:,} characters together",
                    "split it into several profiles",
                )
        if refused is not None:
            length = operand.end - operand.start
            raise ProfileError(refused[0], self.text, operand.start, length=length, hint=refused[1])

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


def _literal(operand: Operand) -> Literal:
    assert operand.literal is not None
    return operand.literal


def _constant(left: Literal | None, op: str, right: Literal | None) -> Constant:
    """Fold a comparison of two literals, by the rules that hold for attributes."""
    assert left is not None
    assert right is not None
    if op == "<=>" and (left.kind is None or right.kind is None):
        return Constant(left.kind is right.kind)
    if left.value is None or right.value is None or left.kind is not right.kind:
        return Constant(None)
    return Constant(comparison("=" if op == "<=>" else op, right.value).holds(left.value))
