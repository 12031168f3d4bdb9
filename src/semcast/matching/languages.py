"""The languages by name, each with its engines: what ``semcast.language`` gives out.

A new language is a class here, beside its packages in ``profiles`` and ``matching``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from semcast.model import Kind, Schema, SemcastError
from semcast.profiles import relational, semantic, topic, xpath

if TYPE_CHECKING:
    from semcast.matching.matchers import Matcher
    from semcast.matching.segments import Engine
    from semcast.matching.semantic import SemanticMatcher
    from semcast.matching.topic import TopicMatcher
    from semcast.matching.xpath import XPathMatcher

P = TypeVar("P")


class Language(Generic[P]):
    """A profile language: a closed algebra, and matchers for many of its profiles."""

    name: str
    profile: type[P]
    """What ``parse`` returns."""
    engines: tuple[str, ...]
    """Names of the engines, the default first."""

    has_namespaces = False
    """Do names have prefixes, which ``parse`` has to be told the meaning of?"""

    def parse(
        self,
        text: str,
        schema: Schema | Mapping[str, Kind | str] | None = None,
        *,
        namespaces: Mapping[str, str] | None = None,
    ) -> P:
        """Read a profile; raises ProfileError, and nothing else, for what is no profile.

        A language looks at ``schema`` or at ``namespaces``, or at neither, and never at both.
        """
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

    def parts(self, profile: P) -> list[str]:
        """The alternatives of a profile, for people: it matches where any of them holds."""
        return [str(profile)]

    def wanted(self, profiles: Sequence[P]) -> dict[str, frozenset[Kind]]:
        """The columns that ``profiles`` look at, each with the kinds they compare it with.

        It stands in for a schema where none is declared; no kind means that only NULL is asked for.
        """
        raise NotImplementedError

    def matcher(self, profiles: Sequence[P] = (), engine: str | None = None) -> Matcher[P]:
        """A matcher of ``profiles``, whose indices are their positions."""
        chosen = engine or self.engines[0]
        if chosen not in self.engines:
            raise SemcastError(f"{self.name} has no engine {chosen!r}; it has {', '.join(self.engines)}")
        return self._matcher(chosen, profiles)

    def _matcher(self, engine: str, profiles: Sequence[P]) -> Matcher[P]:
        # Engines bring numba, which takes a second to import; parsing and covering need none.
        from semcast.matching.segments import SegmentedMatcher

        build = self._engine(engine)
        return SegmentedMatcher(partial(_built, build), profiles, _size)

    def prepare(self, profile: P) -> None:
        """Do beforehand what makes the first match of a profile with very many values slow.

        Matchers that it is added to soon afterwards find it done. To be called from any thread.
        """

    def _engine(self, name: str) -> Callable[[Sequence[P]], Engine]:
        raise NotImplementedError


def _built(build: Callable[[Sequence[Any]], Engine], profiles: Sequence[Any]) -> Engine:
    """An engine; that of a single large profile is remembered for a while."""
    from semcast.matching.segments import ALONE

    alone = len(profiles) == 1 and _size(profiles[0]) >= ALONE
    return _remembered(build, profiles[0]) if alone else build(profiles)


@lru_cache(maxsize=8)
def _remembered(build: Callable[[Sequence[Any]], Engine], profile: Any) -> Engine:
    return build([profile])


def _size(profile: Any) -> int:
    """In units of what most profiles are: a list of 100,000 values counts as some hundreds."""
    return 1 + (len(profile.text) >> 12)


class Relational(Language[relational.Profile]):
    """SQL conditions over the columns of a message (any columns; nested fields by dotted names)."""

    name = "relational"
    profile = relational.Profile
    engines = ("index", "brute")

    def parse(
        self,
        text: str,
        schema: Schema | Mapping[str, Kind | str] | None = None,
        *,
        namespaces: Mapping[str, str] | None = None,
    ) -> relational.Profile:
        return relational.parse(text, _schema(schema))

    def covers(self, a: relational.Profile, b: relational.Profile) -> bool:
        return relational.covers(a, b)

    def overlaps(self, a: relational.Profile, b: relational.Profile) -> bool:
        return relational.overlaps(a, b)

    def parts(self, profile: relational.Profile) -> list[str]:
        return [str(relational.Profile("", (box,))) for box in profile.boxes]

    def wanted(self, profiles: Sequence[relational.Profile]) -> dict[str, frozenset[Kind]]:
        return relational.wanted(profiles)

    def prepare(self, profile: relational.Profile) -> None:
        from semcast.matching.segments import ALONE

        if _size(profile) >= ALONE:
            _built(self._engine(self.engines[0]), [profile])

    def _engine(self, name: str) -> Callable[[Sequence[relational.Profile]], Engine]:
        if name == "brute":
            from semcast.matching.relational.brute import BruteForceEngine

            return BruteForceEngine
        from semcast.matching.relational.engine import RelationalEngine

        return RelationalEngine


class Topic(Language[topic.TopicProfile]):
    """Places in a hierarchy, named from its root down (column ``topic``)."""

    name = "topic"
    profile = topic.TopicProfile
    engines = ("compact", "hashing", "tree", "regex", "naive")

    def parse(
        self,
        text: str,
        schema: Schema | Mapping[str, Kind | str] | None = None,
        *,
        namespaces: Mapping[str, str] | None = None,
    ) -> topic.TopicProfile:
        return topic.parse(text)

    def covers(self, a: topic.TopicProfile, b: topic.TopicProfile) -> bool:
        return topic.covers(a, b)

    def overlaps(self, a: topic.TopicProfile, b: topic.TopicProfile) -> bool:
        return topic.overlaps(a, b)

    def wanted(self, profiles: Sequence[topic.TopicProfile]) -> dict[str, frozenset[Kind]]:
        return {"topic": frozenset({Kind.STRING})}

    def _matcher(self, engine: str, profiles: Sequence[topic.TopicProfile]) -> TopicMatcher:
        from semcast.matching.topic import TopicMatcher

        return TopicMatcher(engine, profiles)


class Markup(Language[P]):
    """A language of profiles on XML (column ``payload``); its names have namespaces."""

    has_namespaces = True

    def wanted(self, profiles: Sequence[P]) -> dict[str, frozenset[Kind]]:
        return {"payload": frozenset({Kind.STRING})}


class XPath(Markup[xpath.XPathProfile]):
    """Boolean XPath over XML documents (column ``payload``)."""

    name = "xpath"
    profile = xpath.XPathProfile
    engines = ("dfa", "lxml")

    def parse(
        self,
        text: str,
        schema: Schema | Mapping[str, Kind | str] | None = None,
        *,
        namespaces: Mapping[str, str] | None = None,
    ) -> xpath.XPathProfile:
        """Read a profile; ``namespaces`` maps the prefixes it uses to their namespaces."""
        return xpath.parse(text, namespaces)

    def covers(self, a: xpath.XPathProfile, b: xpath.XPathProfile) -> bool:
        return xpath.covers(a, b)

    def overlaps(self, a: xpath.XPathProfile, b: xpath.XPathProfile) -> bool:
        return xpath.overlaps(a, b)

    def _matcher(self, engine: str, profiles: Sequence[xpath.XPathProfile]) -> XPathMatcher:
        from semcast.matching.xpath import XPathMatcher

        return XPathMatcher(engine, profiles)


class Semantic(Markup[semantic.InterestProfile]):
    """Interest profiles on RDF content descriptors (column ``payload``)."""

    name = "semantic"
    profile = semantic.InterestProfile
    engines = ("shared", "naive")

    def parse(
        self,
        text: str,
        schema: Schema | Mapping[str, Kind | str] | None = None,
        *,
        namespaces: Mapping[str, str] | None = None,
    ) -> semantic.InterestProfile:
        """Read XML or the short notation, for which ``namespaces`` are prefixes beside its own."""
        return semantic.parse(text, namespaces)

    def covers(self, a: semantic.InterestProfile, b: semantic.InterestProfile) -> bool:
        return semantic.covers(a, b)

    def overlaps(self, a: semantic.InterestProfile, b: semantic.InterestProfile) -> bool:
        return semantic.overlaps(a, b)

    def parts(self, profile: semantic.InterestProfile) -> list[str]:
        return semantic.parts(profile)

    def _matcher(self, engine: str, profiles: Sequence[semantic.InterestProfile]) -> SemanticMatcher:
        from semcast.matching.semantic import SemanticMatcher

        return SemanticMatcher(engine, profiles)


LANGUAGES: dict[str, Language[Any]] = {
    language.name: language for language in (Relational(), Topic(), XPath(), Semantic())
}


def language(name: str) -> Language[Any]:
    """The profile language called ``name``."""
    try:
        return LANGUAGES[name]
    except KeyError:
        known = ", ".join(LANGUAGES)
        raise SemcastError(f"there is no profile language {name!r}; there is {known}") from None


def parsed(profiles: Sequence[Any], name: str | None = None) -> tuple[Language[Any], list[Any]]:
    """Texts and parsed profiles, all of one language: the named one, else the first parsed one's, else relational."""
    if name is None:
        first = next((profile for profile in profiles if not isinstance(profile, str)), None)
        name = next((known.name for known in LANGUAGES.values() if isinstance(first, known.profile)), "relational")
    chosen = language(name)
    found = [chosen.parse(profile) if isinstance(profile, str) else profile for profile in profiles]
    for at, profile in enumerate(found):
        if not isinstance(profile, chosen.profile):
            raise SemcastError(f"profile {at} is no {chosen.name} profile but a {type(profile).__name__}")
    return chosen, found


def _schema(schema: Any) -> Schema | None:
    if schema is None or isinstance(schema, Schema):
        return schema
    if isinstance(schema, str):
        return Schema.from_ddl(schema)
    if isinstance(schema, Mapping):
        return Schema(schema)
    return Schema({field.name: str(field.type) for field in schema})  # a pyarrow.Schema
