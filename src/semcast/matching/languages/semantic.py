"""The semantic language, with its engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from semcast.matching.languages import Markup
from semcast.model import Kind, Schema
from semcast.profiles import semantic

if TYPE_CHECKING:
    from semcast.matching.matchers import Aside
    from semcast.matching.semantic import SemanticMatcher


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
        """Read XML or the short notation, for which ``namespaces`` adds prefixes to its own."""
        return semantic.parse(text, namespaces)

    def covers(self, a: semantic.InterestProfile, b: semantic.InterestProfile) -> bool:
        return semantic.covers(a, b)

    def overlaps(self, a: semantic.InterestProfile, b: semantic.InterestProfile) -> bool:
        return semantic.overlaps(a, b)

    def parts(self, profile: semantic.InterestProfile) -> list[str]:
        return semantic.parts(profile)

    def _payloads(self, profile: semantic.InterestProfile) -> list[bytes]:
        from semcast.matching.semantic.witnesses import descriptors_of

        return descriptors_of(profile)

    def _matcher(
        self, engine: str, profiles: Sequence[semantic.InterestProfile], aside: Aside | None
    ) -> SemanticMatcher:
        from semcast.matching.semantic import SemanticMatcher

        return SemanticMatcher(engine, profiles, aside)


LANGUAGE = Semantic()
