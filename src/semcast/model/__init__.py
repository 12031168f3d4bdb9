"""What everything else talks about: kinds and schemas of streams, and errors.

Nothing here knows a profile language, a channel or a network.
"""

from semcast.model.errors import ProfileError, SemcastError
from semcast.model.schema import Kind, Schema

__all__ = ["Kind", "ProfileError", "Schema", "SemcastError"]
