"""The rule of the lead, without a store."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from semcast.storage.lease import Lease, asked

times = st.floats(0, 1e6)


def test_who_leads_keeps_the_term_and_others_wait() -> None:
    lease = asked(Lease(0, None, 0, 0), "c0", 3.0, 10.0)
    assert lease == Lease(1, "c0", 10.0, 13.0)
    assert asked(lease, "c1", 3.0, 12.0) == lease
    assert asked(lease, "c0", 5.0, 12.0) == Lease(1, "c0", 12.0, 17.0)
    assert asked(lease, "c1", 3.0, 13.0) == Lease(2, "c1", 13.0, 16.0)
    assert asked(lease, "c0", 3.0, 13.0) == Lease(2, "c0", 13.0, 16.0)


@given(granted=times, lease_s=st.floats(0.1, 100), now=times, who=st.sampled_from(("c0", "c1")))
def test_a_term_never_goes_back_and_a_lease_ends_at_most_one_lease_from_now(
    granted: float, lease_s: float, now: float, who: str
) -> None:
    before = Lease(7, "c0", granted, granted + lease_s)
    after = asked(before, who, lease_s, now)
    assert after.term in (7, 8)
    assert now < granted + lease_s or after.term == 8
    assert after.granted <= now
    assert after.until <= now + lease_s * 1.001
    if after.leader == "c0":
        assert after.until >= min(before.until, now + lease_s * 0.999)
