"""Which profiles match a message: what sources ask of all, gateways of their clients', and filtering brokers too."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from semcast.matching import Language, language
from semcast.model.message import Message, ProfileText
from semcast.protocol.profile_texts import parsed

if TYPE_CHECKING:
    import pyarrow as pa

    from semcast.matching.decode import Decoder
    from semcast.matching.topic import TopicMatcher

Name = TypeVar("Name", bound=Hashable)


class Filter(Generic[Name]):
    """Profiles by name, of any streams and languages, matched with messages a batch at a time."""

    def __init__(self, profiles: Mapping[Name, ProfileText] | None = None) -> None:
        self._parts: dict[tuple[str, str], _Part[Name]] = {}
        self._profiles: dict[Name, ProfileText] = {}
        for name, profile in (profiles or {}).items():
            self.add(name, profile)

    def __contains__(self, name: Name) -> bool:
        return name in self._profiles

    def __len__(self) -> int:
        return len(self._profiles)

    def add(self, name: Name, profile: ProfileText) -> None:
        """Add a profile, or replace what the name stood for."""
        if self._profiles.get(name) == profile:
            return
        self.remove(name)
        self._profiles[name] = profile
        where = (profile.stream, profile.language)
        if where not in self._parts:
            self._parts[where] = _Part(language(profile.language))
        self._parts[where].add(name, parsed(profile.language, profile.text))

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
        for name, profile in profiles.items():
            self.add(name, profile)

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
    """The profiles of one stream in one language."""

    def __init__(self, chosen: Language[Any]) -> None:
        self._language = chosen
        self._matcher = chosen.matcher([])
        self._names: dict[int, Name] = {}
        self._places: dict[Name, int] = {}
        self._profiles: dict[Name, Any] = {}
        self._decoder: Decoder | None = None

    def __len__(self) -> int:
        return len(self._places)

    def add(self, name: Name, profile: Any) -> None:
        place = self._matcher.add(profile)
        self._names[place], self._places[name], self._profiles[name] = name, place, profile
        self._decoder = None

    def remove(self, name: Name) -> None:
        place = self._places.pop(name)
        self._matcher.remove(place)
        del self._names[place], self._profiles[name]
        self._decoder = None

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

        from semcast.matching.decode import Decoder, wanted_of

        if self._language.name != "relational":
            payloads = pa.array([message.payload for message in messages], pa.binary())
            return pa.RecordBatch.from_arrays([payloads], ["payload"])
        if self._decoder is None:
            self._decoder = Decoder(wanted_of(self._language, list(self._profiles.values()), None))
        return self._decoder.json_lines([message.payload for message in messages])[0]
