"""Text → TopicProfile, or an error that says what to write instead."""

from __future__ import annotations

import re

from semcast.model import ProfileError
from semcast.profiles.topic.profile import END, WILDCARD, TopicProfile

MAX_DEPTH = 32
"""The paper's "maximum allowable number of attributes m": three times what it evaluates."""
MAX_TEXT_BYTES = 65_535
"""The longest filter, and the longest topic, that MQTT can carry."""

_UNFIT = re.compile("[\0\ud800-\udfff]")


def parse(text: str) -> TopicProfile:
    """Read a profile; raise ProfileError, and nothing else, for what is no profile."""
    check_text(text)
    body = text.removeprefix("/")
    if not body:
        raise ProfileError("the profile is empty", text, hint="name at least a first attribute, as in 'Streams'")
    parts = body.split("/")
    at = len(text) - len(body)
    for number, part in enumerate(parts):
        if not part or part == END or WILDCARD in part:
            _check_special(text, at, number, parts)
        at += len(part) + 1
    depth = len(parts) - (parts[-1] == END)
    if depth > MAX_DEPTH:
        where = len(text) - len("/".join(parts[MAX_DEPTH:]))
        raise ProfileError(f"the profile has {depth} attributes", text, where, hint=f"at most {MAX_DEPTH} are accepted")
    return TopicProfile(body)


def check_text(text: str) -> None:
    """Refuse what could not travel as UTF-8 text of a bounded length."""
    if not isinstance(text, str):
        raise ProfileError(f"a profile is text, not {type(text).__name__}")
    unfit = _UNFIT.search(text)
    if unfit is not None:
        code = f"U+{ord(unfit[0]):04X}"
        raise ProfileError(f"the profile holds {code}, which no topic can hold", text, unfit.start(), hint="remove it")
    if 4 * len(text) > MAX_TEXT_BYTES and (size := len(text.encode())) > MAX_TEXT_BYTES:
        raise ProfileError(f"the profile is {size:,} bytes long", text, hint=f"at most {MAX_TEXT_BYTES:,} are accepted")


def _check_special(text: str, at: int, number: int, parts: list[str]) -> None:
    """Accept ``*`` after the first attribute and ``$`` after the last; refuse everything else."""
    part, last = parts[number], number == len(parts) - 1
    if not part:
        hint = "drop the last '/'" if last else "write '*' for any value"
        # The caret stands on the '/' that should not be there.
        raise ProfileError("an attribute is empty", text, min(at, len(text) - 1), hint=hint)
    if part == END:
        if number == 0 or not last:
            raise ProfileError(
                "'$' says that the topic ends here", text, at, hint="it can only follow the last attribute"
            )
    elif part != WILDCARD:
        where = at + part.index(WILDCARD)
        raise ProfileError("'*' stands for a whole attribute", text, where, hint=f"write '*' instead of {part!r}")
    elif number == 0:
        raise ProfileError(
            "the first attribute cannot be a wildcard", text, at, hint="name it: all streams would be routed here"
        )
