"""Topic profiles: subscription constraints on hierarchical content descriptors (the *topics* paper).

Topic (what a message carries) → attributes, separated by ``/``; TopicProfile → attributes, ``*`` for any
one of them, more may follow unless it ends with ``/$``. MQTT filters are translated into topic profiles.
Knows text and nothing else: no batches, engines, channels or networks.
"""

from semcast.profiles.topic.mqtt import from_mqtt
from semcast.profiles.topic.parser import MAX_DEPTH, MAX_TEXT_BYTES, parse
from semcast.profiles.topic.profile import END, WILDCARD, TopicProfile, attributes, covers, overlaps

__all__ = [
    "END",
    "MAX_DEPTH",
    "MAX_TEXT_BYTES",
    "WILDCARD",
    "TopicProfile",
    "attributes",
    "covers",
    "from_mqtt",
    "overlaps",
    "parse",
]
