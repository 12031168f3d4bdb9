"""Random topic profiles and topics over a few names."""

from __future__ import annotations

from hypothesis import strategies as st

from semcast.profiles.topic import parse

# Few values, so that constraints meet; among them what has a meaning somewhere: in profiles, expressions, keys.
NAMES = ["a", "b", "c", ".", "$x", "a|b", "é"]
VALUES = [*NAMES, "*", "$", "", "\n", "other"]

profiles = st.builds(
    lambda first, rest, end: parse("/".join([first, *rest]) + end),
    st.sampled_from(NAMES[:3]),
    st.lists(st.sampled_from([*NAMES[:3], *NAMES, "*", "*", "*"]), max_size=5),
    st.sampled_from(["", "", "/$"]),
)
topics = st.builds(
    lambda slash, first, rest: slash + "/".join([first, *rest]),
    st.sampled_from(["", "", "/", "//"]),
    st.sampled_from([*NAMES[:3], *VALUES]),
    st.lists(st.sampled_from([*NAMES[:3], *VALUES]), max_size=7),
)
