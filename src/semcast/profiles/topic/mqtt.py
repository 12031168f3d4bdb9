"""MQTT topic filters → topic profiles.

An MQTT filter ends where it ends unless its last level is ``#``; a topic profile goes on unless it ends
with ``$``. What MQTT can say and topic profiles cannot is refused, never widened in silence, but for one
thing: to MQTT ``/a`` and ``a`` are two topics, here they are one.
"""

from __future__ import annotations

from semcast.model import ProfileError
from semcast.profiles.topic.parser import check_text, parse
from semcast.profiles.topic.profile import END, WILDCARD, TopicProfile

_MANY, _ONE = "#", "+"
_SHARED = "$share/"


def from_mqtt(filter: str) -> TopicProfile:
    """The profile of an MQTT filter: ``a/b`` → ``a/b/$``, ``a/+`` → ``a/*/$``, ``a/#`` → ``a``."""
    check_text(filter)
    if filter.startswith(_SHARED):
        raise ProfileError(
            "this is a shared subscription", filter, length=len(_SHARED), hint="translate its filter alone"
        )
    body = filter.removeprefix("/")
    levels = body.split("/")
    at = len(filter) - len(body)
    for number, level in enumerate(levels):
        _check(filter, at, number, levels)
        at += len(level) + 1
    open_ended = levels[-1] == _MANY
    translated = [WILDCARD if level == _ONE else level for level in levels[: len(levels) - open_ended]]
    text = "/".join(translated if open_ended else [*translated, END])
    try:
        return parse(text)
    except ProfileError as error:  # too deep, or an empty level: its place is the same in both texts
        position = min(error.position + len(filter) - len(body), max(0, len(filter) - 1))
        raise ProfileError(error.message, filter, position, hint=error.hint) from None


def _check(filter: str, at: int, number: int, levels: list[str]) -> None:
    level = levels[number]
    if number == 0 and level in (_MANY, _ONE):
        raise ProfileError("the first level cannot be a wildcard", filter, at, hint="name it, as in 'Streams/#'")
    if level == _MANY and number != len(levels) - 1:
        raise ProfileError("'#' can only be the last level", filter, at, hint="write '+' for one level")
    for wildcard in (_MANY, _ONE):
        if wildcard in level and level != wildcard:
            where = at + level.index(wildcard)
            raise ProfileError(
                f"{wildcard!r} stands for a whole level", filter, where, hint="MQTT allows no part of one"
            )
    if WILDCARD in level or level == END:
        raise ProfileError(
            f"{level!r} is a value in MQTT, but no topic profile can ask for it",
            filter,
            at,
            length=len(level),
            hint="write '+' for any value",
        )
    if not level:
        raise ProfileError(
            "a level is empty, and no topic profile can ask for it",
            filter,
            min(at, max(0, len(filter) - 1)),
            hint="write '+' for any value" if len(levels) > 1 and number else None,
        )
