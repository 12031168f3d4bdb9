"""The default engine: one walk down each document, in an automaton of all profiles' accesses.

Most profiles are decided by the walk. What remains, conditions that must hold on one and the same node, is decided
on the document's arrays for the profiles whose accesses were all met.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np

from semcast.matching.matches import Matches
from semcast.matching.xpath.accesses import Access, accesses, others, refutations
from semcast.matching.xpath.arrays import Ints, Words, ints
from semcast.matching.xpath.automaton import MAX_SIZE, Spines, States
from semcast.matching.xpath.documents import Documents
from semcast.matching.xpath.engine import DocumentEngine
from semcast.matching.xpath.flat import Flat
from semcast.matching.xpath.kernels import entries, lookup, memory, texts, verify, watch
from semcast.matching.xpath.kernels import run as kernel
from semcast.matching.xpath.programs import Program, Programs
from semcast.matching.xpath.tables import Packing
from semcast.matching.xpath.vocabulary import Vocabulary
from semcast.profiles.xpath import XPathProfile
from semcast.profiles.xpath.syntax import Expression, negation

_STORE = 1 << 16  # elements × fronts that are kept until one condition needs more
_NO_PROGRAM = Program(0, (), ())


class _Build:
    """Profiles → conditions, and what each asks for.

    A *condition* is what one or more equal profiles ask for; a profile that can only be told by what must not be
    there matches where its negation, also a condition, does not hold.
    """

    def __init__(self, profiles: Sequence[XPathProfile]) -> None:
        self.vocabulary = Vocabulary()
        self.spines = Spines(self.vocabulary)
        self.programs = Programs(self.vocabulary)
        self._numbers: dict[Expression, int] = {}
        self._ways: list[tuple[int, int, int]] = []  # atom, need, 2 · condition + 1 if it is enough
        self._needs: list[int] = []
        self._order: list[int] = []
        self._rows: list[tuple[int, int, int, int, int]] = []
        self.wanted_by: list[list[int]] = []
        self.negative: list[tuple[int, int]] = []
        for index, profile in enumerate(profiles):
            self._add(index, profile.expression)

    def _add(self, index: int, expression: Expression) -> None:
        found = accesses(expression)
        condition = expression if found is not None else negation(expression)
        number = self._numbers.get(condition)
        if number is None:
            number = self._numbers[condition] = len(self._numbers)
            self.wanted_by.append([])
            self._condition(number, condition, refutations(expression) if found is None else found)
        if found is None:
            self.negative.append((index, number))
        else:
            self.wanted_by[number].append(index)

    def _condition(self, number: int, condition: Expression, first: list[Access] | None) -> None:
        assert first is not None  # accesses.py: every expression or its negation has some
        needs, order = len(self._needs), len(self._order)
        self._need(number, first)
        program = _NO_PROGRAM
        if not all(access.exact for access in first):
            for way in others(condition, first):
                self._need(number, way)
            program = self.programs.program(condition)
            self._order += [2 * front + (front in program.required) for front in program.fronts]
        self._rows.append((needs, len(self._needs), order, len(self._order), program.entry))

    def _need(self, number: int, way: Sequence[Access]) -> None:
        need = len(self._needs)
        self._needs.append(len(self._ways))
        self._ways += [(self.spines.atom(access), need, 2 * number + access.exact) for access in way]

    def watches(self, atoms: Ints) -> watch.Watches:
        """All conditions at the need that looks rarest; ``atoms`` are the numbers that atoms got."""
        given = np.array(self._ways, np.int32).reshape(-1, 3)
        ways = np.full((len(given), 4), -1, np.int32)
        ways[:, [watch.NEED, watch.CODE]] = given[:, 1:]
        ways[:, watch.NEXT] = watch.OUT
        conditions = np.zeros((len(self._rows), 8), np.int32)  # the last two columns are empty
        conditions[:, : watch.WATCHED] = np.array(self._rows, np.int32).reshape(-1, 5)
        found = watch.Watches(
            ways=ways,
            atoms=atoms[given[:, 0]],
            needs=ints([*self._needs, len(self._ways)]),
            conditions=conditions,
            heads=np.full((len(atoms), 4), watch.LAST_WAY, np.int32),  # the last column is empty
            watched=_words(len(atoms)),
            tally=np.zeros(64 * len(_words(len(atoms))), np.int32),
        )
        entries.watch_all(found)
        return found

    def conditions(self, rows: Ints) -> verify.Conditions:
        fronts = self.programs.fronts()
        return verify.Conditions(
            conditions=rows,
            order=ints(self._order),
            fronts=fronts,
            code=self.programs.code(),
            made=np.zeros((len(fronts), 4), np.int64),  # the last column is empty
            store=np.zeros(_STORE, np.int32),
            sources=np.zeros(_STORE, np.int32),
            chains=np.zeros(0, np.int32),
            next_element=np.zeros(0, np.int32),
            next_attribute=np.zeros(0, np.int32),
        )

    def wanting(self) -> kernel.Wanting:
        ends = np.cumsum([len(indices) for indices in self.wanted_by], dtype=np.int64)
        spans = np.column_stack((np.concatenate(([0], ends))[:-1], ends)).astype(np.int32)
        positive = ints(index for indices in self.wanted_by for index in indices)
        return kernel.Wanting(spans, positive, np.array(self.negative, np.int32).reshape(-1, 2))


class DfaEngine(DocumentEngine):
    """Matches in O(bytes + hits + nodes · what is left open) per document. One thread matches at a time."""

    def __init__(self, profiles: Sequence[XPathProfile], max_size: int = MAX_SIZE) -> None:
        super().__init__(profiles)
        build = _Build(profiles)
        self._vocabulary = build.vocabulary
        self._wanting = build.wanting()
        packing = Packing(build.vocabulary, build.spines.tables, build.spines.atoms, build.spines.by_ending())
        self.watches = build.watches(packing.atoms)
        self._nfa = build.spines.nfa(packing.tables, packing.asked)
        self._tests = build.vocabulary.tests()
        self._tables = packing.packed(self._tests)
        self._states = States(self._nfa, max_size)
        chains = np.zeros(2 * len(self._nfa.wild), np.int32)
        self._conditions = build.conditions(self.watches.conditions)._replace(chains=chains)
        self._notes = _notes(len(packing.atoms), len(build.wanted_by))
        self._lock = Lock()

    @property
    def evictions(self) -> int:
        """How often all states were dropped."""
        return self._states.evictions

    @property
    def tried(self) -> int:
        """How many conditions were looked at because what they watch was met, so far."""
        return int(self._notes.counts[lookup.TRIED])

    @property
    def verified(self) -> int:
        """How many conditions were decided beside the walk, so far."""
        return int(self._notes.counts[lookup.VERIFIED])

    @property
    def remembered(self) -> int:
        """How many keys are known at some state."""
        return int(self._tables.memory.sizes[memory.REMEMBERED])

    @property
    def steps(self) -> int:
        """Nodes that were tried and bytes of long texts that were looked at beside the walk, so far."""
        return int(self._tests.counts[texts.STEPS])

    def match(self, documents: Documents) -> Matches:
        flat = documents.flat
        if not self.profiles:
            return Matches.none(documents.num_rows)
        with self._lock:
            self._fit(flat)
            return self._run(flat)

    def _run(self, flat: Flat) -> Matches:
        translate = self._vocabulary.translated(flat.names)
        ends = np.zeros(len(flat.documents), np.int64)
        found = np.empty(4 * len(self.profiles) + 1024, np.int32)
        row, fresh = 0, True
        while True:
            row, why = entries.run(
                row, fresh, ends, len(self.profiles), flat.documents, flat.room, translate, self._nfa,
                self._states.dfa, self._tables, self._tests, self._notes, self.watches, self._conditions,
                self._wanting, found,
            )  # fmt: skip
            if why == kernel.FINISHED:
                break
            fresh = why == kernel.NO_ROOM
            if why == kernel.NO_ROOM:
                found = np.concatenate((found, np.empty_like(found)))
            elif why == kernel.NO_STATES:
                self._make_states(flat, row, translate)
            else:
                self._make_store(flat, row)
        return Matches(np.concatenate(([0], ends)), found[: ends[-1] if len(ends) else 0].copy())

    def _make_states(self, flat: Flat, row: int, translate: Ints) -> None:
        """Grow, or drop all states and make those again that the next element lies in."""
        counts = self._notes.counts
        dropped = self._states.make_room((int(counts[lookup.SERIAL]), int(counts[lookup.ELEMENT])))
        top = flat.documents[row, 0]
        while dropped and not entries.retrace(top, flat.room, translate, self._nfa, self._states.dfa, self._notes):
            self._states.grow()
        seen = lookup.nothing_seen(len(self._states.dfa.states))
        if dropped:
            memory.forget(self._tables.memory)
        else:
            seen[: len(self._notes.seen)] = self._notes.seen
        self._notes = self._notes._replace(seen=seen)

    def _make_store(self, flat: Flat, row: int) -> None:
        condition = self._notes.hits[self._notes.counts[lookup.CANDIDATE]]
        fronts = self._conditions.conditions[condition]
        size = int(flat.documents[row, 1] - flat.documents[row, 0])
        room = size * int(fronts[watch.FRONTS_END] - fronts[watch.FRONTS])
        self._conditions = self._conditions._replace(store=np.empty(room, np.int32))
        self._conditions.made[:] = 0

    def _fit(self, flat: Flat) -> None:
        """Room for the largest document of a slice."""
        sizes = np.diff(flat.documents, axis=1)[:, ::2].max(axis=0, initial=0).tolist()
        if len(self._notes.states) < sizes[0]:
            self._notes = self._notes._replace(states=np.zeros(2 * sizes[0], np.int32))
            self._conditions = self._conditions._replace(next_element=np.zeros(2 * sizes[0], np.int32))
        if len(self._notes.visits) < sum(sizes):
            self._notes = self._notes._replace(visits=np.zeros((2 * sum(sizes), lookup.TAG + 1), np.int32))
        if len(self._conditions.next_attribute) < sizes[1]:
            self._conditions = self._conditions._replace(next_attribute=np.zeros(2 * sizes[1], np.int32))
        if len(self._notes.seen) < len(self._states.dfa.states):
            self._notes = self._notes._replace(seen=lookup.nothing_seen(len(self._states.dfa.states)))


def _notes(atoms: int, conditions: int) -> lookup.Notes:
    return lookup.Notes(
        counts=np.zeros(14, np.int64),
        met=_words(atoms),
        seen=lookup.nothing_seen(0),
        hit=np.zeros(conditions, np.int64),
        held=np.zeros(conditions, np.int64),
        hits=np.zeros(conditions, np.int32),
        holding=np.zeros(conditions, np.int32),
        states=np.zeros(0, np.int32),
        visits=np.zeros((0, lookup.TAG + 1), np.int32),
        fired=np.zeros(64 * len(_words(atoms)), np.int32),
    )


def _words(atoms: int) -> Words:
    return np.zeros(atoms // 64 + 1, np.uint64)
