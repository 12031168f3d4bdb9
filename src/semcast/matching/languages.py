"""The languages by name, each with its engines: what ``semcast.language`` gives out.

A new language is a class here, beside its packages in ``profiles`` and ``matching``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from semcast.model import Kind, Schema, SemcastError
from semcast.profiles import relational

if TYPE_CHECKING:
    from semcast.matching.segments import Engine, Matcher

P = TypeVar("P")


class Language(Generic[P]):
    """A profile language: a closed algebra, and matchers for many of its profiles."""

    name: str
    engines: tuple[str, ...]
    """Names of the engines, the default first."""

    def parse(self, text: str, schema: Schema | Mapping[str, Kind | str] | None = None) -> P:
        """Read a profile; raises ProfileError, and nothing else, for what is no profile."""
        raise NotImplementedError

    def canonical(self, profile: P) -> str:
        """The text that all ways of writing ``profile`` share; it parses back to the same profile."""
        return str(profile)

    def covers(self, a: P, b: P) -> bool:
        """True only if every message that matches ``b`` matches ``a``."""
        raise NotImplementedError

    def overlaps(self, a: P, b: P) -> bool:
        """False only if no message can match both."""
        raise NotImplementedError

    def wanted(self, profiles: Sequence[P]) -> dict[str, frozenset[Kind]]:
        """The columns that ``profiles`` look at, each with the kinds they compare it with.

        It stands in for a schema where none is declared; no kind means that only NULL is asked for.
        """
        raise NotImplementedError

    def matcher(self, profiles: Sequence[P] = (), engine: str | None = None) -> Matcher[P]:
        """A matcher of ``profiles``, whose indices are their positions."""
        # Engines bring numba, which takes a second to import; parsing and covering need none.
        from semcast.matching.segments import Matcher

        chosen = engine or self.engines[0]
        if chosen not in self.engines:
            raise SemcastError(f"{self.name} has no engine {chosen!r}; it has {', '.join(self.engines)}")
        return Matcher(self._engine(chosen), profiles)

    def _engine(self, name: str) -> Callable[[Sequence[P]], Engine]:
        raise NotImplementedError


class Relational(Language[relational.Profile]):
    """SQL conditions over the columns of a message (any columns; nested fields by dotted names)."""

    name = "relational"
    engines = ("index", "brute")

    def parse(self, text: str, schema: Schema | Mapping[str, Kind | str] | None = None) -> relational.Profile:
        return relational.parse(text, _schema(schema))

    def covers(self, a: relational.Profile, b: relational.Profile) -> bool:
        return relational.covers(a, b)

    def overlaps(self, a: relational.Profile, b: relational.Profile) -> bool:
        return relational.overlaps(a, b)

    def wanted(self, profiles: Sequence[relational.Profile]) -> dict[str, frozenset[Kind]]:
        return relational.wanted(profiles)

    def _engine(self, name: str) -> Callable[[Sequence[relational.Profile]], Engine]:
        if name == "brute":
            from semcast.matching.relational.brute import BruteForceEngine

            return BruteForceEngine
        from semcast.matching.relational.engine import RelationalEngine

        return RelationalEngine


LANGUAGES: dict[str, Language[Any]] = {language.name: language for language in (Relational(),)}


def language(name: str) -> Language[Any]:
    """The profile language called ``name``."""
    try:
        return LANGUAGES[name]
    except KeyError:
        known = ", ".join(LANGUAGES)
        raise SemcastError(f"there is no profile language {name!r}; there is {known}") from None


def _schema(schema: Any) -> Schema | None:
    if schema is None or isinstance(schema, Schema):
        return schema
    if isinstance(schema, Mapping):
        return Schema(schema)
    return Schema({field.name: str(field.type) for field in schema})  # a pyarrow.Schema
