"""The languages by name, each with its engines: what ``semcast.language`` gives out.

A new language is a module here, with its packages in ``profiles`` and ``matching``; its name is added to ``LANGUAGES``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from semcast.model import Kind, Schema, SemcastError

if TYPE_CHECKING:
    import pyarrow as pa

    from semcast.matching.matchers import Aside, Matcher
    from semcast.matching.segments import Engine

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
        """Read a profile; raises ProfileError, and nothing else, if the text is not a profile.

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

    def witnesses(self, profile: P) -> pa.RecordBatch:
        """Rows that ``profile`` matches, and so does whatever covers it; none where none is found within a budget."""
        return self.witnesses_of([profile])[0]

    def witnesses_of(self, profiles: Sequence[P]) -> tuple[pa.RecordBatch, list[int]]:
        """The witnesses of all ``profiles`` in one batch, and for each row the place of its profile, ascending."""
        raise NotImplementedError

    def matcher(
        self, profiles: Sequence[P] = (), engine: str | None = None, *, aside: Aside | None = None
    ) -> Matcher[P]:
        """A matcher of ``profiles``, whose indices are their positions.

        With ``aside``, which runs a function in a thread, no later change of a few profiles takes the caller long.
        """
        chosen = engine or self.engines[0]
        if chosen not in self.engines:
            raise SemcastError(f"{self.name} has no engine {chosen!r}; it has {', '.join(self.engines)}")
        return self._matcher(chosen, profiles, aside)

    def _matcher(self, engine: str, profiles: Sequence[P], aside: Aside | None) -> Matcher[P]:
        # Engines bring numba, which takes a second to import; parsing and covering need none.
        from semcast.matching.segments import SegmentedMatcher

        build = self._engine(engine)
        return SegmentedMatcher(partial(built, build), profiles, size_of, aside, self._are_quick)

    def _are_quick(self, profiles: Sequence[P]) -> bool:
        """Is an engine of ``profiles`` built within some 5 ms?"""
        raise NotImplementedError

    def prepare(self, profile: P) -> None:
        """Do beforehand what makes the first match of a profile with very many values slow.

        Matchers that it is added to soon afterwards find it done. To be called from any thread.
        """

    def _engine(self, name: str) -> Callable[[Sequence[P]], Engine]:
        raise NotImplementedError


def built(build: Callable[[Sequence[Any]], Engine], profiles: Sequence[Any]) -> Engine:
    """An engine; that of a single large profile is remembered for a while."""
    from semcast.matching.segments import ALONE

    alone = len(profiles) == 1 and size_of(profiles[0]) >= ALONE
    return _remembered(build, profiles[0]) if alone else build(profiles)


@lru_cache(maxsize=8)
def _remembered(build: Callable[[Sequence[Any]], Engine], profile: Any) -> Engine:
    return build([profile])


def size_of(profile: Any) -> int:
    """In units of what most profiles are: a list of 100,000 values counts as some hundreds."""
    return 1 + (len(profile.text) >> 12)


class Markup(Language[P]):
    """A language of profiles on XML (column ``payload``); its names have namespaces."""

    has_namespaces = True

    def witnesses_of(self, profiles: Sequence[P]) -> tuple[pa.RecordBatch, list[int]]:
        import pyarrow as pa

        found = [(payload, at) for at, profile in enumerate(profiles) for payload in self._payloads(profile)]
        payloads = pa.array([payload for payload, _ in found], pa.binary())
        return pa.RecordBatch.from_arrays([payloads], ["payload"]), [at for _, at in found]

    def _payloads(self, profile: P) -> Sequence[bytes]:
        """Messages that ``profile`` matches."""
        raise NotImplementedError

    def wanted(self, profiles: Sequence[P]) -> dict[str, frozenset[Kind]]:
        return {"payload": frozenset({Kind.STRING})}


class Languages(Mapping[str, Language[Any]]):
    """All languages by name. One is imported when it is first asked for: most programs need one of them."""

    def __init__(self, *names: str) -> None:
        self._names = names
        self._loaded: dict[str, Language[Any]] = {}

    def __getitem__(self, name: str) -> Language[Any]:
        if name not in self._loaded:
            if name not in self._names:
                raise KeyError(name)
            module = import_module(f"{__name__}.{name}")
            self._loaded[name] = module.LANGUAGE
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def of(self, profile: Any) -> str | None:
        """The name of the language that parsed ``profile``, which is loaded then; None where none did."""
        return next((name for name, known in self._loaded.items() if isinstance(profile, known.profile)), None)


LANGUAGES = Languages("relational", "topic", "xpath", "semantic")


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
        name = LANGUAGES.of(first) or "relational"
    chosen = language(name)
    found = [chosen.parse(profile) if isinstance(profile, str) else profile for profile in profiles]
    for at, profile in enumerate(found):
        if not isinstance(profile, chosen.profile):
            raise SemcastError(f"profile {at} is no {chosen.name} profile but a {type(profile).__name__}")
    return chosen, found
