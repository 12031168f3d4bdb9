"""Random relational profiles and rows over one small world.

Values and literals are drawn from the same short lists, so that equalities, ties and neighbours are
common; the lists hold what has broken engines before: NaN, infinities, signed zeros, integers that
doubles cannot hold, empty and non-ASCII strings, the ends of prefixes, and times around the epoch.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pyarrow as pa
from hypothesis import strategies as st

INTEGERS = [-(2**53) - 1, -3, -1, 0, 1, 2, 3, 10, 2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**62 + 1]
FLOATS = [float("-inf"), -2.5, -0.0, 0.0, 0.1, 1.0, 2.0, 2.5, 10.0, 2.0**53, 1e300, float("inf"), float("nan")]
STRINGS = ["", "a", "ab", "abc", "abd", "b", "ab%", "a_c", "é", "z\U0010ffff", "it's", "a\nb", "\ud7ff", "\ue000"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES = [EPOCH + timedelta(microseconds=m) for m in (-1, 0, 1, 1_700_000_000_000_000, 1_700_000_000_000_001)]

COLUMNS = {
    "i": (pa.int64(), INTEGERS),
    "f": (pa.float64(), FLOATS),
    "s": (pa.string(), STRINGS),
    "b": (pa.bool_(), [True, False]),
    "t": (pa.timestamp("us", "UTC"), TIMES),
}


@st.composite
def tables(draw: st.DrawFn, rows: int = 40) -> pa.Table:
    """Rows drawn from the columns' lists; a seed stands for all of them, since drawing each is slow."""
    random = Random(draw(st.integers(0, 2**32)))
    count = draw(st.integers(1, rows))
    columns = {
        name: pa.array(random.choices([None, *values], k=count), type_) for name, (type_, values) in COLUMNS.items()
    }
    return pa.table(columns)


def literal(kind: str) -> st.SearchStrategy[str]:
    match kind:
        case "i":
            # With an exponent it would be a double literal: SQL engines then round the *column*, which we do not.
            return st.sampled_from([repr(x) for x in INTEGERS] + ["-2.5", "0.1", "1.50", "10.0", "00"])
        case "f":
            finite = [x for x in FLOATS if x - x == 0]
            return st.sampled_from([repr(x) for x in [*INTEGERS, *finite]] + ["1.50", "1e1", "-2.5e0", "00"])
        case "s":
            return st.sampled_from(["'" + x.replace("'", "''") + "'" for x in STRINGS])
        case "b":
            return st.sampled_from(["TRUE", "FALSE"])
    return st.sampled_from([f"TIMESTAMP '{x:%Y-%m-%d %H:%M:%S.%f}'" for x in TIMES])


@st.composite
def predicates(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(list(COLUMNS)))
    value = literal(name)
    form = draw(st.sampled_from(["compare"] * 4 + ["between", "in", "null", "like", "reversed", "bare", "null in"]))
    maybe_not = draw(st.sampled_from(["", "NOT "]))
    op = draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]))
    match form:
        case "between":
            return f"{name} {maybe_not}BETWEEN {draw(value)} AND {draw(value)}"
        case "in":
            return f"{name} {maybe_not}IN ({', '.join(draw(st.lists(value, min_size=1, max_size=4)))})"
        case "null in":
            return f"{name} {maybe_not}IN ({draw(value)}, NULL)"
        case "null":
            return f"{name} IS {maybe_not}NULL"
        case "like":
            pattern = draw(st.text(st.sampled_from("aab%%_cé"), max_size=4))
            return f"s {maybe_not}LIKE '{pattern}'"
        case "reversed":
            return f"{draw(value)} {op} {name}"
        case "bare":
            return "b"
    return f"{name} {op} {draw(value)}"


texts = st.recursive(
    predicates(),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: f"({p[0]} AND {p[1]})"),
        st.tuples(inner, inner).map(lambda p: f"({p[0]} OR {p[1]})"),
        inner.map(lambda p: f"NOT ({p})"),
    ),
    max_leaves=6,
)


@st.composite
def conjunctions(draw: st.DrawFn) -> str:
    """AND of comparisons and sets only: where `covers` must be complete."""
    parts = draw(st.lists(st.tuples(st.sampled_from(["i", "s", "t"]), st.integers(0, 2)), min_size=1, max_size=4))
    terms = []
    for name, form in parts:
        value = literal(name)
        if form == 0:
            terms.append(f"{name} IN ({', '.join(draw(st.lists(value, min_size=1, max_size=3)))})")
        else:
            terms.append(f"{name} {draw(st.sampled_from(['<', '<=', '>', '>=']))} {draw(value)}")
    return " AND ".join(terms)
