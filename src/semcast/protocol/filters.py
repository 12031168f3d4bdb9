"""Which profiles match a message: what sources ask of all, gateways of their clients', and filtering brokers too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from semcast.matching import Language, language
from semcast.model import Kind
from semcast.model.message import Message, ProfileText
from semcast.protocol.profile_texts import parsed

if TYPE_CHECKING:
    import pyarrow as pa

    from semcast.matching.decode import Decoder
    from semcast.matching.matchers import Aside
    from semcast.matching.topic import TopicMatcher

Name = TypeVar("Name", bound=Hashable)


class Filter(Generic[Name]):
    """Profiles by name, of any streams and languages, matched with messages a batch at a time."""

    def __init__(self, profiles: Mapping[Name, ProfileText] | None = None, aside: Aside | None = None) -> None:
        """``aside`` runs a function in a thread; with it no change of a few profiles takes an event loop long."""
        self._aside = aside
        self._parts: dict[tuple[str, str], _Part[Name]] = {}
        self._profiles: dict[Name, ProfileText] = {}
        self.extend((profiles or {}).items())

    def __contains__(self, name: Name) -> bool:
        return name in self._profiles

    def __len__(self) -> int:
        return len(self._profiles)

    def add(self, name: Name, profile: ProfileText) -> None:
        """Add a profile, or replace what the name stood for."""
        self.extend([(name, profile)])

    def extend(self, items: Iterable[tuple[Name, ProfileText]]) -> None:
        """Add many, or replace what their names stood for; a ProfileError leaves all as it was."""
        added = {name: profile for name, profile in items if self._profiles.get(name) != profile}
        new: dict[tuple[str, str], dict[Name, Any]] = {}
        for name, profile in added.items():
            found = parsed(profile.language, profile.text)
            new.setdefault((profile.stream, profile.language), {})[name] = found
        for name in added:
            self.remove(name)
        for (stream, kind), profiles in new.items():
            if (stream, kind) not in self._parts:
                self._parts[stream, kind] = _Part(language(kind), self._aside)
            self._parts[stream, kind].extend(profiles)
        self._profiles |= added

    def remove(self, name: Name) -> None:
        profile = self._profiles.pop(name, None)
        if profile is None:
            return
        part = self._parts[profile.stream, profile.language]
        part.remove(name)
        if not part:
            del self._parts[profile.stream, profile.language]

    def keep(self, profiles: Mapping[Name, ProfileText]) -> None:
        """Have exactly these."""
        for name in [name for name in self._profiles if name not in profiles]:
            self.remove(name)
        self.extend(profiles.items())

    def match(self, messages: Sequence[Message]) -> list[list[Name]]:
        """Per message the names of the profiles that match it, in the order in which they were added."""
        found: list[list[Name]] = [[] for _ in messages]
        for (stream, _), part in self._parts.items():
            rows = [row for row, message in enumerate(messages) if message.stream == stream]
            if rows:
                for row, names in zip(rows, part.match([messages[row] for row in rows]), strict=True):
                    found[row] += names
        return found


class _Part(Generic[Name]):
    """The profiles of one stream in one language. They are kept by the matcher alone."""

    def __init__(self, chosen: Language[Any], aside: Aside | None) -> None:
        self._language = chosen
        self._matcher = chosen.matcher([], aside=aside)
        self._names: dict[int, Name] = {}
        self._places: dict[Name, int] = {}
        # How many profiles ask for a column, and how many of them for each kind of it.
        self._columns: Counter[str] = Counter()
        self._kinds: Counter[tuple[str, Kind]] = Counter()
        self._decoder: Decoder | None = None

    def __len__(self) -> int:
        return len(self._places)

    def extend(self, profiles: Mapping[Name, Any]) -> None:
        for name, place in zip(profiles, self._matcher.extend(list(profiles.values())), strict=True):
            self._names[place], self._places[name] = name, place
        for profile in profiles.values():
            self._count(profile, 1)

    def remove(self, name: Name) -> None:
        place = self._places.pop(name)
        del self._names[place]
        self._count(self._matcher.remove(place), -1)

    def _count(self, profile: Any, by: int) -> None:
        """Count what a profile that comes or goes looks at; the decoder stays if all together look at the same."""
        if self._language.name != "relational":
            return
        for column, kinds in self._language.wanted([profile]).items():
            self._changed(self._columns, column, by)
            for kind in kinds:
                self._changed(self._kinds, (column, kind), by)

    def _changed(self, counts: Counter[Any], key: Any, by: int) -> None:
        counts[key] += by
        if not counts[key]:
            del counts[key]
        if counts[key] == max(by, 0):  # the first of them came, or the last one went
            self._decoder = None

    def _wanted(self) -> dict[str, frozenset[Kind]]:
        """What ``Language.wanted`` says of all profiles."""
        columns = sorted(self._columns)
        return {column: frozenset(kind for kind in Kind if (column, kind) in self._kinds) for column in columns}

    def match(self, messages: Sequence[Message]) -> Iterable[list[Name]]:
        if self._language.name == "topic":
            matcher = cast("TopicMatcher", self._matcher)
            found = matcher.match_topics([message.topic for message in messages])
        else:
            matches = self._matcher.match(self._batch(messages))
            ends, places = matches.indptr.tolist(), matches.indices.tolist()
            found = [places[begin:end] for begin, end in pairwise(ends)]
        return [[self._names[place] for place in places] for places in found]

    def _batch(self, messages: Sequence[Message]) -> pa.RecordBatch:
        # Arrow is loaded by the first profile of a language that needs it: an interior broker has none.
        import pyarrow as pa

        from semcast.matching.decode import Decoder

        if self._language.name != "relational":
            payloads = pa.array([message.payload for message in messages], pa.binary())
            return pa.RecordBatch.from_arrays([payloads], ["payload"])
        if self._decoder is None:
            self._decoder = Decoder(self._wanted())
        return self._decoder.json_lines([message.payload for message in messages])[0]
