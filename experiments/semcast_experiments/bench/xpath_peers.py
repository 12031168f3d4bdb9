"""Who ours is measured against: one lxml XPath per profile, and parsers that do nothing else."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any
from xml.parsers import expat

import numpy as np
import pyarrow as pa
from lxml import etree

from semcast.matching.matchers import Matcher
from semcast.profiles.xpath import XPathProfile
from semcast.profiles.xpath.profile import xpath_1
from semcast_experiments.bench.ours import keys_of
from semcast_experiments.bench.race import Keys, Mismatch

_FEWEST = 3  # documents of a pass


class Best:
    """The best CPU time per document of each contender, over all rounds."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def time(self, name: str, work: Callable[[], int], documents: int) -> int:
        """Run ``work`` over so many documents and return what it returns."""
        gc.collect()
        begin = time.process_time()
        found = work()
        taken = (time.process_time() - begin) / documents
        self._seconds[name] = min(taken, self._seconds.get(name, taken))
        return found

    def us_per_document(self) -> dict[str, float]:
        return {name: round(seconds * 1e6, 2) for name, seconds in self._seconds.items()}


class LxmlPerProfile:
    """What one writes without an engine: parse each document once, then ask every profile's compiled XPath.

    ``count`` documents are as many as fit into ``seconds``, at least three.
    """

    def __init__(self, profiles: Sequence[XPathProfile], documents: pa.RecordBatch, seconds: float) -> None:
        self._paths = [_compiled(profile) for profile in profiles]
        self._payloads = [text.encode() for text in documents.column(0).to_pylist()]
        self.count = min(_FEWEST, len(self._payloads))
        self.run()
        begin = time.process_time()
        self.run()
        each = (time.process_time() - begin) / self.count
        self.count = min(len(self._payloads), max(_FEWEST, int(seconds / max(each, 1e-9))))

    def run(self) -> int:
        return sum(len(self._matched(payload)) for payload in self._payloads[: self.count])

    def keys(self) -> Keys:
        """All pairs, as race.Contender's."""
        found = [self._matched(payload) for payload in self._payloads[: self.count]]
        rows = [np.asarray(matched, np.int64) + row * len(self._paths) for row, matched in enumerate(found)]
        return np.concatenate(rows) if rows else np.empty(0, np.int64)

    def _matched(self, payload: bytes) -> list[int]:
        tree = etree.fromstring(payload).getroottree()
        return [at for at, path in enumerate(self._paths) if path(tree)]


def _compiled(profile: XPathProfile) -> Any:
    text, namespaces = xpath_1(profile.expression)
    return etree.XPath(f"boolean({text})", namespaces=namespaces, regexp=False, smart_strings=False)


def compared(ours: Matcher[XPathProfile], peer: LxmlPerProfile, documents: pa.RecordBatch, profiles: int) -> int:
    """The number of pairs that both find in the peer's documents; Mismatch where they differ."""
    expected, found = keys_of(ours.match(documents.slice(0, peer.count)), profiles), peer.keys()
    if np.array_equal(expected, found):
        return len(expected)
    wrong = np.setxor1d(expected, found)
    row, profile = divmod(int(wrong[0]), profiles)
    raise Mismatch(
        f"lxml finds {len(found):,} matches in {peer.count:,} documents and semcast {len(expected):,}; "
        f"{len(wrong):,} are found by one only, first document {row} with profile {profile}"
    )


def parsers(texts: Sequence[str]) -> dict[str, Callable[[], int]]:
    """Parsing alone, by lxml into a tree and by expat, without handlers and with ones that do nothing."""
    payloads = [text.encode() for text in texts]

    def lxml_tree() -> int:
        for payload in payloads:
            etree.fromstring(payload)
        return 0

    def expat_bare() -> int:
        for payload in payloads:
            expat.ParserCreate().Parse(payload, True)
        return 0

    def expat_handled() -> int:
        for payload in payloads:
            parser = expat.ParserCreate()
            parser.StartElementHandler = _nothing
            parser.EndElementHandler = parser.CharacterDataHandler = _nothing
            parser.Parse(payload, True)
        return 0

    return {
        "lxml, parsing alone": lxml_tree,
        "expat, parsing alone": expat_bare,
        "expat, empty handlers": expat_handled,
    }


def _nothing(*_: object) -> None:
    """What a handler of events costs at least."""
