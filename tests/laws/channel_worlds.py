"""Matches and channel expressions that laws are tried with."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from semcast.channels import expressions as ex
from semcast.matching.matches import Matches


def matches_of(matched: list[set[int]]) -> Matches:
    counts = [len(profiles) for profiles in matched]
    indices = np.array([p for profiles in matched for p in sorted(profiles)], np.int32)
    return Matches(np.concatenate(([0], np.cumsum(counts))).astype(np.int64), indices)


@st.composite
def expressions(draw: st.DrawFn, profiles: int = 6, depth: int = 3) -> ex.Expression:
    kind = draw(st.sampled_from(["atom"] if depth == 0 else ["atom", "or", "and", "not"]))
    if kind == "atom":
        return ex.Atom(draw(st.integers(0, profiles - 1)))
    if kind == "not":
        return ex.negation(draw(expressions(profiles, depth - 1)))
    parts = draw(st.lists(expressions(profiles, depth - 1), max_size=3))
    return ex.disjunction(parts) if kind == "or" else ex.conjunction(parts)
