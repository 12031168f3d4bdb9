"""Topics that a topic profile matches, such that just the profiles that cover it match all of them."""

from __future__ import annotations

from semcast.profiles.topic import WILDCARD, TopicProfile, attributes

# As a value of a message a wildcard is a word like others, but one that no profile can name.
_FRESH = WILDCARD


def topics_of(profile: TopicProfile) -> list[str]:
    """The topic that ends where the profile does and, where it may go on, one that does."""
    words = "/".join(_FRESH if wanted == WILDCARD else wanted for wanted in profile.attributes)
    found = [words] if profile.ends else [words, f"{words}/{_FRESH}"]
    return [topic for topic in found if _matches(profile, topic)]


def _matches(profile: TopicProfile, topic: str) -> bool:
    wanted, given = profile.attributes, attributes(topic)
    if len(given) < len(wanted) or (profile.ends and len(given) > len(wanted)):
        return False
    return all(mine in (WILDCARD, value) for mine, value in zip(wanted, given, strict=False))
