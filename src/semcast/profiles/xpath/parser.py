"""Tokens → expression, or an error that names what is not supported and where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from semcast.model import ProfileError
from semcast.profiles.xpath.lexer import Token, tokenize
from semcast.profiles.xpath.names import Names
from semcast.profiles.xpath.refusals import check_function, check_node_test, check_operator, no_axis
from semcast.profiles.xpath.syntax import (
    Axis,
    Call,
    Compare,
    Exists,
    Expression,
    Number,
    Path,
    Step,
    conjunction,
    conjuncts,
    disjunction,
    negation,
)

MAX_NESTING = 32
"""How deep predicates, parentheses and calls may stand in each other."""
MAX_STEPS = 128
"""How many steps a profile may have, in all its paths."""
MAX_PARTS = 1024
"""How many names, literals, calls and slashes a profile may have."""
MAX_SEARCHES = 32
"""How many contains() a profile may have: each may have to read all of a message's text."""

_COMPARISONS = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}  # and how they read backwards
_EXACT_DIGITS = 15  # shorter numbers keep their value when zeros at their ends go

Operand: TypeAlias = Path | str | Number | Expression


def parse_expression(text: str, namespaces: Mapping[str, str] | None = None) -> Expression:
    """Read the text of a profile; raise ProfileError for what is none."""
    return _Parser(text, tokenize(text), Names(text, namespaces)).profile()


class _Parser:
    """Recursive descent, one method per level of binding; ``at`` is the next token."""

    def __init__(self, text: str, tokens: list[Token], names: Names) -> None:
        self.text = text
        self.tokens = tokens
        self.names = names
        self.at = 0
        self.nesting = 0
        self.size = 0
        self.steps = 0
        self.searches = 0

    def profile(self) -> Expression:
        if self._next.type == "END":
            raise ProfileError("the profile is empty", self.text, hint="write a path, as in '/news/item'")
        found = self._or()
        if self._next.type != "END":
            raise self._unexpected()
        return found

    def _or(self) -> Expression:
        begin = self._next
        return self._truth(self._or_operand(), begin)

    def _or_operand(self) -> Operand:
        """An expression, or the bare path or literal that parentheses may also hold, as in ``(a) = 5``."""
        begin = self._next
        first = self._and()
        if not self._is_word("or"):
            return first
        items = [self._truth(first, begin)]
        while self._take_word("or"):
            begin = self._next
            items.append(self._truth(self._and(), begin))
        return disjunction(items)

    def _and(self) -> Operand:
        begin = self._next
        first = self._comparison()
        if not self._is_word("and"):
            return first
        items = [self._truth(first, begin)]
        while self._take_word("and"):
            begin = self._next
            items.append(self._truth(self._comparison(), begin))
        return conjunction(items)

    def _comparison(self) -> Operand:
        begin = self._next
        left = self._operand()
        sign = self._next
        if not self._is_comparison(sign):
            check_operator(self.text, sign)
            return left
        self.at += 1
        right_begin = self._next
        right = self._operand()
        check_operator(self.text, self._next)
        if self._is_comparison(self._next):
            raise self._error("a comparison of a comparison is not supported", self._next, "join two with 'and'")
        if isinstance(left, Path) and isinstance(right, str | Number):
            return Compare(left, sign.value, right)
        if isinstance(right, Path) and isinstance(left, str | Number):
            return Compare(right, _COMPARISONS[sign.value], left)
        if isinstance(left, Path) and isinstance(right, Path):
            raise self._error("comparing two paths is not supported", sign, "compare a path with a string or a number")
        if isinstance(left, str | Number) and isinstance(right, str | Number):
            raise self._error("comparing two literals is not supported", sign, "name a path on one side")
        where = right_begin if isinstance(left, Path | str | Number) else begin
        raise self._error("comparing a truth value is not supported", where, "use it with 'and', 'or' and 'not()'")

    def _is_comparison(self, token: Token) -> bool:
        return token.type == "OP" and token.value in _COMPARISONS

    def _truth(self, operand: Operand, token: Token) -> Expression:
        if isinstance(operand, Path):
            return Exists(operand)
        if isinstance(operand, Number):
            raise self._error("a position is not supported", token, "a number can only be compared with")
        if isinstance(operand, str):
            raise self._error("a string alone is no condition", token, "compare a path with it")
        return operand

    def _operand(self) -> Operand:
        token = self._next
        if token.type == "STRING":
            self._advance()
            return token.value
        if token.type == "NUMBER":
            self._advance()
            return Number(_plain_digits(token.value))
        if token.type == "OP" and token.value == "-":
            return self._negative()
        if token.type == "OP" and token.value == "(":
            return self._parenthesised()
        if token.type == "NAME" and self._follows("(") and token.value != "text":
            return self._call()
        return self._path()

    def _negative(self) -> Number:
        minus = self._advance()
        if self._next.type != "NUMBER":
            raise self._error("arithmetic is not supported", minus, "only a number can be negative, as in -5")
        return Number("-" + _plain_digits(self._advance().value))

    def _parenthesised(self) -> Operand:
        begin = self._open()
        inner = self._or_operand()
        self._close(begin)
        if isinstance(inner, Path) and self._next.value in ("/", "//", "[") and self._next.type == "OP":
            raise self._error("a path from parentheses is not supported", self._next, "write the path without them")
        return inner

    def _call(self) -> Expression:
        name = self._advance()
        check_node_test(self.text, name)
        check_function(self.text, name)
        begin = self._open()
        if name.value == "not":
            found = negation(self._or())
        elif name.value == "boolean":
            found = self._or()
        else:
            found = self._string_function(name)
        self._close(begin)
        return found

    def _string_function(self, name: Token) -> Expression:
        self.searches += name.value == "contains"
        if self.searches > MAX_SEARCHES:
            raise self._error("the profile has too many contains()", name, f"at most {MAX_SEARCHES} are accepted")
        path_begin = self._next
        path = self._operand()
        if not isinstance(path, Path):
            raise self._error(f"{name.value}() looks into a path", path_begin, f"as in {name.value}(title, 'news')")
        self._expect(",", f"{name.value}() has a path and a string")
        literal = self._next
        value = self._operand()
        if not isinstance(value, str):
            raise self._error(f"{name.value}() looks for a string", literal, f"as in {name.value}(title, 'news')")
        return Call(name.value, path, value)

    def _path(self) -> Path:
        first = self._next
        steps: list[Step] = []
        absolute = first.type == "OP" and first.value in ("/", "//")
        if absolute:
            self._advance()
            if first.value == "/" and not self._starts_step():
                return Path(True, ())
        self._step(steps, absolute and first.value == "//")
        while self._next.type == "OP" and self._next.value in ("/", "//"):
            deep = self._advance().value == "//"
            self._step(steps, deep)
        return Path(absolute, tuple(steps))

    def _starts_step(self) -> bool:
        token = self._next
        return token.type == "NAME" or (token.type == "OP" and token.value in (".", "..", "@", "*"))

    def _step(self, steps: list[Step], deep: bool) -> None:
        token = self._next
        if token.type == "OP" and token.value == ".":
            self._advance()
            if deep:
                raise self._error("'//.' is not supported", token, "write '//*' for all elements")
            if self._next.value == "[" and self._next.type == "OP":
                raise self._error("'.' takes no predicate", self._next, "join the conditions with 'and'")
            return
        if steps and steps[-1].axis is not Axis.CHILD:
            what = "an attribute" if steps[-1].axis is Axis.ATTRIBUTE else "text()"
            raise self._error(f"nothing lies below {what}", token, "end the path before it")
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise self._error("the profile has too many steps", token, f"at most {MAX_STEPS} are accepted")
        axis, name = self._node_test()
        steps.append(Step(axis, deep, name, self._predicates()))

    def _node_test(self) -> tuple[Axis, str]:
        token = self._next
        if token.type == "OP" and token.value == "@":
            self._advance()
            return Axis.ATTRIBUTE, self._name("an attribute's name or '*' follows '@'")
        if token.type == "NAME" and self._follows("("):
            check_node_test(self.text, token)
            if token.value == "text":
                self._advance()
                begin = self._open()
                self._close(begin)
                return Axis.TEXT, "*"
        return Axis.CHILD, self._name("")

    def _name(self, wanted: str) -> str:
        token = self._next
        if token.type == "NAME":
            if self._follows("::"):
                raise no_axis(self.text, token)
            if self._follows("("):
                raise self._error(f"{token.value}() is no step of a path", token, "a step is a name, '*' or '@name'")
            self._advance()
            return self.names.resolved(token)
        if token.type == "OP" and token.value == "*":
            self._advance()
            return "*"
        raise self._error(wanted, token) if wanted else self._unexpected()

    def _predicates(self) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while self._next.type == "OP" and self._next.value == "[":
            begin = self._open()
            found.append(self._or())
            self._close(begin)
        return conjuncts(found)

    @property
    def _next(self) -> Token:
        return self.tokens[self.at]

    def _advance(self) -> Token:
        token = self._next
        self.size += 1
        self.at += 1
        if self.size > MAX_PARTS:
            raise self._error("the profile has too many parts", token, "split it into several profiles")
        return token

    def _follows(self, value: str) -> bool:
        token = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        return token.type == "OP" and token.value == value

    def _is_word(self, word: str) -> bool:
        return self._next.type == "NAME" and self._next.value == word

    def _take_word(self, word: str) -> bool:
        taken = self._is_word(word)
        self.at += taken
        return taken

    def _open(self) -> Token:
        token = self._next
        if self.nesting == MAX_NESTING:
            raise self._error("the profile is nested too deeply", token, f"at most {MAX_NESTING} levels are accepted")
        self.nesting += 1
        return self._advance()

    def _close(self, begin: Token) -> None:
        closing = {"(": ")", "[": "]"}[begin.value]
        if self._next.type == "END":
            raise self._error(f"{begin.value!r} is not closed", begin, f"add the closing {closing!r}")
        self._expect(closing, "")
        self.nesting -= 1

    def _expect(self, value: str, why: str) -> None:
        token = self._next
        if token.type != "OP" or token.value != value:
            raise self._error(why, token, f"{value!r} is missing") if why else self._unexpected()
        self.at += 1

    def _unexpected(self) -> ProfileError:
        token = self._next
        if token.type == "END":
            return self._error("the profile ends too early", token, "a path, a string or a number is missing")
        check_operator(self.text, token)
        return self._error(f"unexpected {self.text[token.start : token.end]!r}", token)

    def _error(self, message: str, token: Token, hint: str | None = None) -> ProfileError:
        return ProfileError(message, self.text, token.start, length=max(1, token.end - token.start), hint=hint)


def _plain_digits(digits: str) -> str:
    """Without zeros at the ends, where these cannot change the value that libxml2 reads."""
    if len(digits) > _EXACT_DIGITS:
        return digits
    whole, _, fraction = digits.partition(".")
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole
