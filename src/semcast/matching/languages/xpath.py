"""The XPath language, with its engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from semcast.matching.languages import Markup
from semcast.model import Kind, Schema
from semcast.profiles import xpath

if TYPE_CHECKING:
    from semcast.matching.matchers import Aside
    from semcast.matching.xpath import XPathMatcher


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

    def _payloads(self, profile: xpath.XPathProfile) -> list[bytes]:
        from semcast.matching.xpath.witnesses import documents_of

        return documents_of(profile)

    def _matcher(self, engine: str, profiles: Sequence[xpath.XPathProfile], aside: Aside | None) -> XPathMatcher:
        from semcast.matching.xpath import XPathMatcher

        return XPathMatcher(engine, profiles, aside)


LANGUAGE = XPath()
