"""SemCast: content-based dissemination of high-volume streams.

Consumers declare profiles, producers publish messages; each message is matched once and reaches every
consumer whose profile matches it. Start with ``semcast.language("relational")``.
"""

from semcast.matching import Language, language
from semcast.model import Kind, ProfileError, Schema, SemcastError

__all__ = ["Kind", "Language", "ProfileError", "Schema", "SemcastError", "language"]
__version__ = "0.1.0"
