"""Engines: many profiles × a batch of messages → Matches.

Language (by name), Matcher (profiles that come and go), Engine (immutable), Matches (sparse).
Knows Arrow batches; knows no channels, no networks and no Spark.
"""

from semcast.matching.languages import LANGUAGES, Language, language, parsed

__all__ = ["LANGUAGES", "Language", "language", "parsed"]
