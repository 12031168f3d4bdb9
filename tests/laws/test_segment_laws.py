"""The laws of a matcher that is rebuilt elsewhere while it changes: exact at every moment, in few segments."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from math import log
from random import Random

import pyarrow as pa
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

import semcast
from semcast.matching.matches import Matches
from semcast.matching.segments import _MANY, ALONE, SegmentedMatcher, _Segment

_BATCH = pa.RecordBatch.from_pydict({"x": list(range(8))})


class Divisors:
    """An engine of plain numbers: n matches each row that it divides."""

    def __init__(self, profiles: Sequence[int]) -> None:
        self.profiles = list(profiles)
        self.prepared = False

    def match(self, batch: pa.RecordBatch | pa.Table) -> Matches:
        rows = batch.column(0).to_pylist()
        return Matches.of_rows([[at for at, n in enumerate(self.profiles) if row % n == 0] for row in rows])

    def prepare(self) -> None:
        self.prepared = True


def _size(profile: int) -> int:
    return ALONE if profile == 7 else 1


def _few(profiles: Sequence[int]) -> bool:
    return len(profiles) <= 3


class RebuiltElsewhere(RuleBasedStateMachine):
    """Jobs wait until they are run, in two halves: changes fall before, between and behind them."""

    matcher_class: type[SegmentedMatcher[int]] = SegmentedMatcher

    def __init__(self) -> None:
        super().__init__()
        self.jobs: list[Callable[[], None]] = []
        self.live: dict[int, int] = {}
        self.meanwhile: list[Callable[[], None]] = []
        self.matcher = self.matcher_class(self._build, (), _size, self.jobs.append, _few)

    def _build(self, profiles: Sequence[int]) -> Divisors:
        # A build that runs elsewhere holds no lock: whatever else is called meanwhile takes its place here.
        if not self.matcher_is_locked():
            for change in self.meanwhile:
                change()
            self.meanwhile = []
        return Divisors(profiles)

    def matcher_is_locked(self) -> bool:
        return not hasattr(self, "matcher") or self.matcher._lock.locked()

    @rule(profiles=st.lists(st.integers(1, 7), min_size=1, max_size=6))
    def extend(self, profiles: list[int]) -> None:
        self.live |= dict(zip(self.matcher.extend(profiles), profiles, strict=True))

    @rule(chosen=st.lists(st.integers(0, 200), min_size=1, max_size=8))
    def remove(self, chosen: list[int]) -> None:
        for index in chosen:
            if self.live:
                index = sorted(self.live)[index % len(self.live)]
                assert self.matcher.remove(index) == self.live.pop(index)

    @rule(chosen=st.lists(st.integers(0, 200), min_size=1, max_size=8), profiles=st.lists(st.integers(1, 7)))
    def run(self, chosen: list[int], profiles: list[int]) -> None:
        """Run what waits; while it builds, profiles are removed, added and matched."""
        if self.jobs:
            self.meanwhile = [lambda: self.remove(chosen), lambda: self.extend(profiles), self.matches_are_exact]
            self.jobs.pop(0)()
            self.meanwhile = []

    @rule()
    def travel(self) -> None:
        """What is pickled goes on by itself, without whoever worked for it."""
        match = pickle.loads(pickle.dumps(_picklable(self.matcher)))
        assert match._aside is None
        assert match.match(_BATCH).pairs().tolist() == self._expected()

    @invariant()
    def matches_are_exact(self) -> None:
        assert self.matcher.match(_BATCH).pairs().tolist() == self._expected()
        assert len(self.matcher) == len(self.live)

    @invariant()
    def at_most_one_job_waits(self) -> None:
        assert len(self.jobs) <= 1

    @invariant()
    def segments_are_few(self) -> None:
        together = [segment for segment in self.matcher._segments if segment.profiles[0] != 7]
        alone = len(self.matcher._segments) - len(together)
        logarithm = 1 + log(1 + len(self.live) + sum(segment.masked for segment in together), 4)
        assert len(together) <= (1 + alone) * (1 + logarithm) + _MANY

    def teardown(self) -> None:
        """When all that was due is done, nothing more is: segments fall in size, and few profiles in them are gone."""
        while self.jobs:
            self.jobs.pop(0)()
        self.matches_are_exact()
        assert self.matcher._next_rebuild() is None
        assert not self.matcher._rebuilding

    def _expected(self) -> list[list[int]]:
        rows = range(_BATCH.num_rows)
        return [[row, index] for row in rows for index, n in sorted(self.live.items()) if row % n == 0]


def _picklable(matcher: SegmentedMatcher[int]) -> SegmentedMatcher[int]:
    state = matcher.__getstate__()
    copy: SegmentedMatcher[int] = SegmentedMatcher(Divisors, (), _size, None, _few)
    copy.__setstate__({**state, "_build": Divisors})
    return copy


_SETTINGS = settings(max_examples=100, stateful_step_count=30, deadline=None)


def test_a_matcher_that_is_rebuilt_elsewhere_is_exact_at_every_moment() -> None:
    run_state_machine_as_test(RebuiltElsewhere, settings=_SETTINGS)


class _ForgetsRemovals(SegmentedMatcher[int]):
    """Swaps in what was built, as if nothing had been removed meanwhile."""

    def _swap(self, old: tuple[_Segment[int], ...], new: _Segment[int] | None) -> None:
        with self._lock:
            kept = [segment for segment in self._segments if segment.numbers[-1] < old[0].numbers[0]]
            kept += [new] if new is not None else []
            self._segments = (*kept, *(s for s in self._segments if s.numbers[0] > old[-1].numbers[-1]))
            self._fixed = 0


class _MergesWhatIsTaken(SegmentedMatcher[int]):
    """Merges segments within a turn that are being rebuilt elsewhere."""

    def _may_merge(self, segments: list[_Segment[int]], members: list[tuple[int, int]]) -> bool:
        return True


class _EndsTooSoon(SegmentedMatcher[int]):
    """Ends with the first rebuild, whatever else is due."""

    def _rebuild(self) -> None:
        if old := self._take():
            self._swap(old, self._segment([member for segment in old for member in segment.members()]))
            self._rebuilding = False


class _NeverMergesInItsTurn(SegmentedMatcher[int]):
    """Leaves every merge to others, however long they take."""

    def _may_merge(self, segments: list[_Segment[int]], members: list[tuple[int, int]]) -> bool:
        return False


@pytest.mark.parametrize("broken", [_ForgetsRemovals, _MergesWhatIsTaken, _EndsTooSoon])
def test_the_laws_of_rebuilding_bite(broken: type[SegmentedMatcher[int]]) -> None:
    machine = type("Broken", (RebuiltElsewhere,), {"matcher_class": broken})
    once = settings(_SETTINGS, max_examples=400, database=None, phases=[Phase.generate])
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(machine, settings=once)


def test_without_help_segments_are_merged_in_the_callers_turn() -> None:
    """A thread that never comes round costs time, but neither exactness nor ever more segments."""
    for kind in (SegmentedMatcher, _NeverMergesInItsTurn):
        matcher = kind(Divisors, (), None, lambda job: None, _few)
        for n in range(200):
            matcher.add(1 + n % 6)
            matcher.match(_BATCH)
        assert (len(matcher._segments) <= _MANY + 2 + log(200, 4)) is (kind is SegmentedMatcher)


def test_what_is_built_elsewhere_is_prepared_there() -> None:
    jobs: list[Callable[[], None]] = []
    matcher: SegmentedMatcher[int] = SegmentedMatcher(Divisors, (), None, jobs.append, _few)
    for n in range(4):
        matcher.extend([1 + n, 2, 3])
        matcher.match(_BATCH)
    assert len(jobs) == 1
    jobs.pop()()
    (segment,) = matcher._segments
    assert isinstance(segment.engine, Divisors)
    assert segment.engine.prepared
    assert len(segment.profiles) == 12


def test_a_rebuild_that_fails_is_tried_again_with_the_next_change() -> None:
    jobs: list[Callable[[], None]] = []
    failing = False

    def build(profiles: Sequence[int]) -> Divisors:
        if failing:
            raise MemoryError
        return Divisors(profiles)

    matcher: SegmentedMatcher[int] = SegmentedMatcher(build, (), None, jobs.append, _few)
    for _ in range(2):
        matcher.extend([1, 2, 3])
        matcher.match(_BATCH)
    failing = True
    with pytest.raises(MemoryError):
        jobs.pop()()
    failing = False
    matcher.remove(0)
    jobs.pop()()
    assert len(matcher._segments) == 1
    assert len(matcher) == 5


def test_relational_profiles_are_rebuilt_by_real_threads() -> None:
    """Against a matcher of the brute engine that is built from scratch, with threads that end when they like."""
    language = semcast.language("relational")
    threads: list[threading.Thread] = []

    def aside(job: Callable[[], None]) -> None:
        threads.append(threading.Thread(target=job))
        threads[-1].start()

    random = Random(5)
    matcher = language.matcher([], aside=aside)
    live: dict[int, str] = {}
    batch = pa.RecordBatch.from_pydict({"x": list(range(20)), "y": ["a", "b"] * 10})
    for _ in range(60):
        texts = [_text(random) for _ in range(random.randrange(1, 90))]
        live |= dict(zip(matcher.extend([language.parse(text) for text in texts]), texts, strict=True))
        for index in random.sample(sorted(live), random.randrange(len(live) // 3)):
            assert language.canonical(matcher.remove(index)) == language.canonical(language.parse(live.pop(index)))
        numbers = sorted(live)
        oracle = language.matcher([language.parse(live[n]) for n in numbers], engine="brute").match(batch)
        assert matcher.match(batch).pairs().tolist() == [[row, numbers[at]] for row, at in oracle.pairs().tolist()]
    assert threads
    for thread in threads:
        thread.join()
    assert matcher.match(batch).pairs().tolist() == [[row, numbers[at]] for row, at in oracle.pairs().tolist()]


def _text(random: Random) -> str:
    """Of many shapes, since those take the time."""
    names = random.sample(["x", *(f"a{n}" for n in range(9))], 3)
    return " OR ".join(f"{name} {random.choice('<>=')} {random.randrange(20)}" for name in names)
