"""The topic language, with its engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from semcast.matching.languages import Language
from semcast.model import Kind, Schema
from semcast.profiles import topic

if TYPE_CHECKING:
    import pyarrow as pa

    from semcast.matching.matchers import Aside
    from semcast.matching.topic import TopicMatcher


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

    def witnesses_of(self, profiles: Sequence[topic.TopicProfile]) -> tuple[pa.RecordBatch, list[int]]:
        import pyarrow as pa

        from semcast.matching.topic.witnesses import topics_of

        found = [(text, at) for at, profile in enumerate(profiles) for text in topics_of(profile)]
        topics = pa.array([text for text, _ in found], pa.string())
        return pa.RecordBatch.from_arrays([topics], ["topic"]), [at for _, at in found]

    def _matcher(self, engine: str, profiles: Sequence[topic.TopicProfile], aside: Aside | None) -> TopicMatcher:
        from semcast.matching.topic import TopicMatcher

        return TopicMatcher(engine, profiles)


LANGUAGE = Topic()
