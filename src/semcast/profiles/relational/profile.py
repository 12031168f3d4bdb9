"""Relational profiles as a closed algebra: parse, canonical text, covers, overlaps."""

from __future__ import annotations

from collections.abc import Sequence

from semcast.model import Kind, ProfileError, Schema
from semcast.profiles.relational import constraints as c
from semcast.profiles.relational import ranges as sets
from semcast.profiles.relational.canonical import canonical_text
from semcast.profiles.relational.constraints import Domain
from semcast.profiles.relational.geo import implied_ranges
from semcast.profiles.relational.normal import Box, Conjunction, conjoined, lies_within, normal_form
from semcast.profiles.relational.parser import parse_syntax
from semcast.profiles.relational.syntax import Axes, Distance, Node
from semcast.profiles.relational.templates import Templates

_TEMPLATE_SIZE = 4096  # a longer text is not one of many that an application writes
MAX_COVER_STEPS = 1 << 16  # pieces × boxes looked at before `covers` of disjunctions gives up and answers False


class Profile:
    """A consumer's interest: the text as written and its boxes (the normal form).

    Two profiles are equal when their boxes are, however they were written.
    """

    __slots__ = ("_hash", "boxes", "text")

    def __init__(self, text: str, boxes: tuple[Box, ...]) -> None:
        self.text = text
        self.boxes = boxes
        self._hash: int | None = None  # tuples do not remember theirs, and one may hold 100,000 values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Profile) and self.boxes == other.boxes

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.boxes)
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        return Profile, (self.text, self.boxes)

    def __str__(self) -> str:
        return canonical(self)

    def __repr__(self) -> str:
        return f"Profile({self.text!r})"


_templates = Templates()


def parse(text: str, schema: Schema | None = None) -> Profile:
    """Read a profile; raise ProfileError, and nothing else, for what is no profile."""
    written: object = text
    if not isinstance(written, str) or len(text) > _TEMPLATE_SIZE or not text.isascii():
        return _parsed(text, schema)[0]
    template, literals, key = _templates.find(text, schema)
    boxes = None if template is None else template.boxes(literals)
    if boxes is not None:
        return Profile(text, boxes)
    profile, node = _parsed(text, schema)
    _templates.remember(key, literals, node)
    return profile


def _parsed(text: str, schema: Schema | None) -> tuple[Profile, Node]:
    try:
        node = parse_syntax(text, schema)
        return Profile(text, normal_form(node, text)), node
    except RecursionError:
        raise ProfileError("the profile is nested too deeply", text, 0, length=len(text)) from None


def wanted(profiles: Sequence[Profile]) -> dict[str, frozenset[Kind]]:
    """The attributes that ``profiles`` name, each with the kinds of the literals they compare it with."""
    found: dict[str, set[Kind]] = {}
    for shape in {box.shape for profile in profiles for box in profile.boxes}:
        for slot in shape:
            if isinstance(slot.attribute, Axes):
                for name in slot.attribute:
                    found.setdefault(name, set()).add(Kind.NUMBER)
                continue
            kinds = found.setdefault(slot.attribute, set())
            if slot.domain not in (Domain.NULL, Domain.PRESENT):
                kinds.add(Kind(slot.domain.value))
    return {name: frozenset(kinds) for name, kinds in sorted(found.items())}


def canonical(profile: Profile) -> str:
    """The text that all ways of writing ``profile`` share.

    Only where doubles see another set than exact numbers do (two integers beyond 2^53 that are one
    double, in one profile) may no shorter text say the same; then it is the text as written.
    """
    text = canonical_text(profile.boxes)
    if any(slot.double_sides is not None for box in profile.boxes for slot in box.shape):
        return text if parse(text) == profile else profile.text
    return text


def covers(a: Profile, b: Profile) -> bool:
    """True only if every message that matches ``b`` matches ``a``.

    Complete where ``b`` is a conjunction of intervals and sets and ``a`` is one too; for disjunctions
    ``b`` is cut along the boxes of ``a``, up to MAX_COVER_STEPS comparisons of a piece with a box.
    """
    wide = [box.constraints() for box in a.boxes]
    steps = 0
    for box in b.boxes:
        narrow = box.constraints()
        if any(_implies(narrow, other) for other in wide):
            continue
        steps = _steps_to_cover(narrow, wide, steps)
        if steps > MAX_COVER_STEPS:
            return False
    return True


def overlaps(a: Profile, b: Profile) -> bool:
    """False only if no message can match both."""
    return any(_meet(x.constraints(), y.constraints()) for x in a.boxes for y in b.boxes)


def _steps_to_cover(narrow: Conjunction, wide: list[Conjunction], steps: int) -> int:
    """Cut ``narrow``, which is in none of ``wide``, along those that meet it until all pieces are in one.

    Returns ``steps`` and the comparisons that it took; more than MAX_COVER_STEPS where it is not covered.
    """
    pieces = [narrow]
    while pieces:
        piece = pieces.pop()
        steps += len(wide)
        if any(_implies(piece, box) for box in wide):
            continue
        if steps > MAX_COVER_STEPS or len(wide) < 2:
            return MAX_COVER_STEPS + 1
        cut = next((cut for box in wide if (cut := _cut(piece, box)) is not None), None)
        if cut is None:
            return MAX_COVER_STEPS + 1
        pieces += cut
    return steps


def _implies(narrow: Conjunction, wide: Conjunction) -> bool:
    if lies_within(narrow, wide):
        return True
    if not any(isinstance(a, Distance) for a in wide):
        return False
    plain: Conjunction = {a: x for a, x in wide.items() if not isinstance(a, Distance)}
    return lies_within(narrow, plain) and all(
        _distance_implied(narrow, a, x) for a, x in wide.items() if isinstance(a, Distance)
    )


def _distance_implied(narrow: Conjunction, wanted: Distance, constraint: c.Constraint) -> bool:
    for known, mine in narrow.items():
        if isinstance(known, Distance) and mine.domain is Domain.NUMBER:
            implied = implied_ranges(known, c.doubles_of(mine), wanted)
            if implied is not None and c.holds_within(c.Constraint(Domain.NUMBER, implied), constraint):
                return True
    return constraint.domain is Domain.PRESENT and wanted in narrow


def _cut(piece: Conjunction, box: Conjunction) -> list[Conjunction] | None:
    """Split ``piece`` into the part inside ``box`` and parts outside; None where that gains nothing."""
    inside = conjoined(piece, box)
    if inside is None:
        return None
    parts: list[Conjunction] = []
    rest = dict(piece)
    for attribute, constraint in box.items():
        mine = rest.get(attribute)
        if mine is None:
            return None  # all values of the attribute, of every kind: no constraint says that
        left = c.outside(mine, constraint)
        if left is None:
            return None
        parts += [{**rest, attribute: x} for x in left]
        common = c.both(mine, constraint)
        assert common is not None
        rest[attribute] = common
    return [*parts, rest]


def _meet(a: Conjunction, b: Conjunction) -> bool:
    both = conjoined(a, b)
    if both is None:
        return False
    for known, mine in a.items():
        for wanted, other in b.items():
            if isinstance(known, Distance) and isinstance(wanted, Distance) and known != wanted:
                implied = implied_ranges(known, c.doubles_of(mine), wanted) if mine.domain is Domain.NUMBER else None
                asked = c.doubles_of(other)
                if implied is not None and other.domain is Domain.NUMBER and not sets.intersect(implied, asked):
                    return False
    return True
