"""The benchmark of XPath: ours against one lxml XPath per profile, and against parsing alone.

Parsing is the ceiling: no engine that reads documents can be faster. Ours is timed from an Arrow column to
CSR, parsing included, three times with each fresh engine: over documents that it sees first (*cold*), over the
same ones again (*warm*), and over others of the same kind (*new*), which is what a stream is made of.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from lxml import etree

from semcast.demo.xml import XmlWorkload
from semcast.matching.xpath import XPathMatcher
from semcast.model import SemcastError
from semcast.profiles.xpath import XPathProfile
from semcast_experiments.bench.matching import Options
from semcast_experiments.bench.race import Say
from semcast_experiments.bench.report import machine, versions
from semcast_experiments.bench.xpath_peers import Best, LxmlPerProfile, compared, parsers
from semcast_experiments.workloads.xml import SCHEMAS

_METHOD = (
    "CPU time of one thread; contenders take turns within a round and the best round counts. Ours: a fresh engine per "
    "round; documents that it sees first (cold), the same again (warm), others of the same kind (new). lxml: the tree "
    "parsed once, one compiled XPath per profile; its matches are compared with ours, pair by pair."
)
_GROWTH = (
    "the profiles of the smallest number, and others drawn alike of which none matches any of the documents, so that "
    "every number of profiles has the same matches"
)


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    profiles: tuple[int, ...]
    documents: int
    sample: int  # documents by which profiles are chosen
    rounds: int
    lxml_seconds: float  # what one pass of lxml may take


FULL = Scale((1_000, 7_000, 50_000), 200, 100, 3, 2.0)
QUICK = Scale((200, 1_000), 40, 40, 2, 0.3)


def run_xpath(options: Options, say: Say) -> dict[str, Any]:
    """Measure and return the report, as plain data; Mismatch where lxml finds other pairs than ours."""
    unknown = [name for name in options.only if name not in SCHEMAS]
    if unknown:
        raise SemcastError(f"there is no schema {unknown[0]!r}; there is {', '.join(SCHEMAS)}")
    begin = time.perf_counter()
    scale = QUICK if options.quick else FULL
    counts = tuple(sorted(set(options.profiles))) or scale.profiles
    found = {name: _schema(name, counts, scale, options.seed, say) for name in options.only or SCHEMAS}
    return {
        "benchmark": "xpath",
        "quick": options.quick,
        "seed": options.seed,
        "method": _METHOD,
        "growth": _GROWTH,
        "machine": machine(),
        "versions": {**versions(), "lxml": etree.__version__, "libxml2": ".".join(map(str, etree.LIBXML_VERSION))},
        "schemas": found,
        "targets": [],
        "seconds": round(time.perf_counter() - begin, 1),
    }


def _schema(name: str, counts: Sequence[int], scale: Scale, seed: int, say: Say) -> dict[str, Any]:
    workload = XmlWorkload(SCHEMAS[name])
    documents, others = (workload.documents(scale.documents, seed + at) for at in (1, 2))
    say(f"{name}: drawing {counts[-1]:,} profiles")
    profiles = workload.profiles(counts[-1], workload.documents(scale.sample, seed + 3), seed)
    raced = [_race(name, profiles[:count], documents, others, scale, say) for count in counts]
    grown = _growth(name, workload, profiles[: counts[0]], counts, documents, others, scale, seed, say)
    return {"documents": _described(documents), "races": raced, "growth": grown}


def _race(
    name: str, profiles: list[XPathProfile], documents: pa.RecordBatch, others: pa.RecordBatch, scale: Scale, say: Say
) -> dict[str, Any]:
    say(f"{name}: {len(profiles):,} profiles, compared with lxml")
    ours = _Ours(profiles, documents, others)
    peer = LxmlPerProfile(profiles, documents, scale.lxml_seconds)
    equal = compared(ours.fresh(), peer, documents, len(profiles))
    bare = parsers(documents.column(0).to_pylist())
    best = Best()
    for number in range(1, scale.rounds + 1):
        say(f"{name}: {len(profiles):,} profiles, round {number} of {scale.rounds}")
        for parser, parse in bare.items():
            best.time(parser, parse, documents.num_rows)
        ours.round(best)
        best.time("lxml XPath per profile", peer.run, peer.count)
    return {
        "profiles": len(profiles),
        "matches_per_document": ours.matches_per_document(),
        "compared": {"documents": peer.count, "pairs": equal, "equal": True},
        "build_seconds": round(ours.build_seconds, 3),
        "us_per_document": best.us_per_document(),
        "ratios": _ratios(best.us_per_document()),
    }


def _growth(
    name: str,
    workload: XmlWorkload,
    base: list[XPathProfile],
    counts: Sequence[int],
    documents: pa.RecordBatch,
    others: pa.RecordBatch,
    scale: Scale,
    seed: int,
    say: Say,
) -> list[dict[str, Any]]:
    """Ours alone at the same matches whatever the number of profiles."""
    say(f"{name}: drawing {counts[-1]:,} profiles that add no match")
    both = pa.RecordBatch.from_arrays([pa.concat_arrays([documents.column(0), others.column(0)])], ["payload"])
    profiles = workload.more(base, counts[-1], both, seed)
    contenders = [(_Ours(profiles[:count], documents, others), Best()) for count in counts]
    for number in range(1, scale.rounds + 1):
        say(f"{name}: growth at equal matches, round {number} of {scale.rounds}")
        for ours, best in contenders:
            ours.round(best)
    first = contenders[0][1].us_per_document()
    return [
        {
            "profiles": len(ours.profiles),
            "matches_per_document": ours.matches_per_document(),
            "us_per_document": (us := best.us_per_document()),
            "over_the_first": {f"{key} / first": round(us[key] / first[key], 2) for key in us},
        }
        for ours, best in contenders
    ]


class _Ours:
    """Fresh engines over the same profiles."""

    def __init__(self, profiles: list[XPathProfile], documents: pa.RecordBatch, others: pa.RecordBatch) -> None:
        self.profiles, self.documents, self.others = profiles, documents, others
        self.build_seconds = float("inf")
        self._pairs = 0

    def fresh(self) -> XPathMatcher:
        begin = time.process_time()
        matcher = XPathMatcher("dfa", self.profiles)
        self.build_seconds = min(self.build_seconds, time.process_time() - begin)
        return matcher

    def round(self, best: Best) -> None:
        matcher = self.fresh()

        def over(batch: pa.RecordBatch, name: str) -> int:
            return best.time(f"semcast, {name}", lambda: len(matcher.match(batch)), batch.num_rows)

        self._pairs, again = over(self.documents, "cold"), over(self.documents, "warm")
        over(self.others, "new documents")
        if again != self._pairs:
            raise SemcastError(f"a second pass finds {again:,} matches where the first found {self._pairs:,}")

    def matches_per_document(self) -> float:
        return round(self._pairs / int(self.documents.num_rows), 2)


def _ratios(us: dict[str, float]) -> dict[str, float]:
    """How many times as fast as lxml ours is, and how many times as long as parsing alone it takes."""
    peer, ceiling = us["lxml XPath per profile"], us["lxml, parsing alone"]
    ours = {key.removeprefix("semcast, "): value for key, value in us.items() if key.startswith("semcast")}
    return {f"lxml / {key}": round(peer / value, 1) for key, value in ours.items()} | {
        f"{key} / parsing": round(value / ceiling, 2) for key, value in ours.items()
    }


def _described(documents: pa.RecordBatch) -> dict[str, float]:
    texts = documents.column(0).to_pylist()
    elements = [sum(1 for _ in etree.fromstring(text).iter()) for text in texts]
    sizes = [len(text.encode()) for text in texts]
    return {
        "documents": len(texts),
        "mean_bytes": round(float(np.mean(sizes))),
        "mean_elements": round(float(np.mean(elements)), 1),
        "largest_elements": max(elements),
    }
