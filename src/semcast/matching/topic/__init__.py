"""Topic engines: subscriptions that are added and removed in place, and the destinations of a topic.

TopicEngine (one of ``compact``, ``hashing``, ``tree``, ``regex``, ``naive``) computes one topic at a time;
TopicMatcher numbers the profiles, guards them with a lock and matches each distinct topic of a batch once.
Knows Arrow columns; knows no channels and no networks.
"""

from semcast.matching.topic.engine import TopicEngine
from semcast.matching.topic.matcher import ENGINES, TopicMatcher

__all__ = ["ENGINES", "TopicEngine", "TopicMatcher"]
