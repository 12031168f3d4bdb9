"""``semcast bench schemes`` in small: one overlay live under four schemes, and what they carry as it must be."""

from __future__ import annotations

import pytest

from semcast_experiments.bench import Options, run_schemes

pytestmark = pytest.mark.system


def test_semnet_carries_what_spt_carries_and_nobody_between_matches_under_masks() -> None:
    said: list[str] = []
    report = run_schemes(Options((), quick=True, seed=1), said.append)
    found = {row["scheme"]: row for row in report["schemes"]}
    assert list(found) == ["masked", "semcast", "spt", "semnet"]
    assert found["semnet"]["transmissions"] == found["spt"]["transmissions"] > 0
    assert found["masked"]["evaluations"] == found["semcast"]["evaluations"] == 0
    assert found["semnet"]["evaluations"] >= report["packets"]
    assert found["semnet"]["source_profile_bytes"] == 0 < found["masked"]["source_profile_bytes"]
    assert all(row["cpu_us"] > 0 and row["table_bytes"] > 0 for row in found.values())
    assert len(said) == 4
