"""Half frames of all connections together: a bound, and who goes when it is passed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from semcast.net.partial import Partial


class Line:
    def __init__(self) -> None:
        self.ended = False

    def evict(self, reason: str) -> None:
        assert "together hold more" in reason
        self.ended = True


def test_the_oldest_beginning_goes_first_however_large_the_newest_is() -> None:
    partial, lines = Partial(100), [Line() for _ in range(4)]
    partial.hold(lines[0], 10)
    partial.hold(lines[1], 40)
    partial.hold(lines[0], 20)  # growing does not make it younger
    partial.hold(lines[2], 30)
    partial.hold(lines[3], 25)
    assert [line.ended for line in lines] == [True, False, False, False]
    assert partial.total == 95


def test_a_connection_that_has_completed_something_begins_with_the_next() -> None:
    partial, lines = Partial(100), [Line() for _ in range(2)]
    partial.hold(lines[0], 50)
    partial.hold(lines[1], 40)
    partial.hold(lines[0], 50, begun=True)
    partial.hold(lines[0], 70)
    assert [line.ended for line in lines] == [False, True]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 60), st.booleans())))
def test_the_bound_holds_after_every_step(steps: list[tuple[int, int, bool]]) -> None:
    partial, lines = Partial(100), [Line() for _ in range(6)]
    held = dict.fromkeys(lines, 0)
    for place, size, begun in steps:
        if lines[place].ended:
            continue
        partial.hold(lines[place], size, begun=begun)
        held[lines[place]] = size
        assert partial.total <= 100
        assert partial.total == sum(size for line, size in held.items() if not line.ended)
