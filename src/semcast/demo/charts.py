"""Chart corrections (thesis §5.2.1): an agency's packets and its subscribers' interests, from given distributions.

The world has regions of one digit, subregions of two and charts of five: chart 67888 lies in subregion 67 of region 6.
A correction names one chart; an interest asks for some regions, subregions and charts. The thesis' conclusion asks for
such a generator, with distributions of packets and profiles as its input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from semcast.model import SemcastError
from semcast.profiles.semantic import InterestProfile
from semcast.profiles.semantic.names import DESCRIPTION, PACKET, RDF
from semcast.profiles.semantic.syntax import Expression, Text, conjunction, disjunction, has

MAP = "http://schema.SemanticRouting.net/map/1.0"
_REGION, _SUBREGION, _CHART, _ID = (f"{{{MAP}}}{name}" for name in ("region", "subregion", "chart", "id"))
_CORRECTION, _TOP = f"{{{MAP}}}chart_correction", f"{{{MAP}}}map"


@dataclass(frozen=True)
class Charts:
    """What is drawn. Skew 0 draws every chart alike, 1 by Zipf's law; packets and interests have their own order."""

    regions: int = 9
    """From 1 on."""
    subregions: int = 10
    """Of each region."""
    charts: int = 200
    """Of each subregion, at most 1,000."""
    packet_skew: float = 0.0
    interest_skew: float = 0.8
    wants: float = 3.0
    """Mean number of places that an interest asks for, at least one."""
    levels: tuple[float, float, float] = (0.02, 0.18, 0.8)
    """How often such a place is a region, a subregion, a chart."""
    payload_bytes: tuple[float, float] = (2_000.0, 1.0)
    """Median of a packet's payload, and the standard deviation of its logarithm; headers hardly vary (Figure 5.3)."""

    def __post_init__(self) -> None:
        if not (1 <= self.regions <= 9 and 1 <= self.subregions <= 10 and 1 <= self.charts <= 1000):
            raise SemcastError("there are 1 to 9 regions, with 1 to 10 subregions of 1 to 1,000 charts each")

    @cached_property
    def every(self) -> list[str]:
        """All charts there are."""
        return [
            f"{region}{subregion}{chart:03}"
            for region in range(1, self.regions + 1)
            for subregion in range(self.subregions)
            for chart in range(self.charts)
        ]

    def corrections(self, count: int, rng: np.random.Generator) -> list[str]:
        """Charts that are corrected, one per packet."""
        return self._drawn(count, self.packet_skew, rng)

    def packets(self, count: int, rng: np.random.Generator) -> Iterator[bytes]:
        """Packets as they travel: a descriptor of one chart, and a payload that nobody reads."""
        median, spread = self.payload_bytes
        sizes = np.exp(rng.normal(np.log(max(median, 1.0)), spread, count)).astype(np.int64)
        for chart, size in zip(self.corrections(count, rng), sizes.tolist(), strict=True):
            yield packet(chart, b"." * min(size, 1 << 20))

    def interests(self, count: int, rng: np.random.Generator) -> list[InterestProfile]:
        """Profiles as in Figure 5.2."""
        return [InterestProfile.of(interest(places)) for places in self.places(count, rng)]

    def places(self, count: int, rng: np.random.Generator) -> list[list[str]]:
        """Per interest the regions, subregions and charts that it asks for, by their digits."""
        numbers = 1 + rng.poisson(max(0.0, self.wants - 1), count)
        drawn = iter(self._drawn(int(numbers.sum()), self.interest_skew, rng))
        digits = iter(rng.choice([1, 2, 5], int(numbers.sum()), p=np.array(self.levels) / sum(self.levels)).tolist())
        return [sorted({next(drawn)[: next(digits)] for _ in range(number)}) for number in numbers.tolist()]

    def _drawn(self, count: int, skew: float, rng: np.random.Generator) -> list[str]:
        weights = (1.0 + np.arange(len(self.every))) ** -skew
        order: NDArray[np.int64] = rng.permutation(len(self.every))
        picked = order[rng.choice(len(order), count, p=weights / weights.sum())]
        return [self.every[at] for at in picked.tolist()]


def interest(places: Sequence[str]) -> Expression:
    """The expression of Figure 5.2 for some regions, subregions and charts."""
    regions = disjunction(_region(place) for place in places)
    return has(DESCRIPTION, has(_TOP, has(_CORRECTION, regions)))


def _region(place: str) -> Expression:
    asked = [has(_ID, Text(place[0]))]
    if len(place) > 1:
        inside = [has(_ID, Text(place[:2]))]
        if len(place) > 2:
            inside.append(has(_CHART, has(_ID, Text(place))))
        asked.append(has(_SUBREGION, conjunction(inside)))
    return has(_REGION, conjunction(asked))


def descriptor(chart: str) -> str:
    """What a correction of one chart says of itself."""
    inner = f"<m:subregion><m:id>{chart[:2]}</m:id><m:chart><m:id>{chart}</m:id></m:chart></m:subregion>"
    region = f"<m:region><m:id>{chart[0]}</m:id>{inner}</m:region>"
    body = f"<m:map><m:chart_correction>{region}</m:chart_correction></m:map>"
    return f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:m="{MAP}"><rdf:Description>{body}</rdf:Description></rdf:RDF>'


def packet(chart: str, payload: bytes) -> bytes:
    """A whole packet, as in Figure 3.3."""
    head = f'<Packet xmlns="{PACKET}"><Content-Descriptor>{descriptor(chart)}</Content-Descriptor>'
    return head.encode() + b'<Payload content-type="text/plain">' + payload + b"</Payload></Packet>"
