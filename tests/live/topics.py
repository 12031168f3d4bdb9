"""Topics, profiles over them, and what each profile gets."""

from __future__ import annotations

from collections import Counter

import numpy as np

from semcast.model.message import Message, ProfileText
from semcast.protocol.filters import Filter


def expected(profile: str, messages: list[Message]) -> Counter[str]:
    matching = Filter({"p": ProfileText("topics", "topic", profile)}).match(messages)
    return Counter(m.payload.decode() for m, names in zip(messages, matching, strict=True) if names)


def some_topic(rng: np.random.Generator) -> str:
    return f"t/{rng.integers(0, 40)}/{rng.integers(0, 5)}"


def some_profile(rng: np.random.Generator) -> str:
    return f"t/{rng.integers(0, 40)}" if rng.random() < 0.5 else f"t/{rng.integers(0, 40)}/{rng.integers(0, 5)}"
