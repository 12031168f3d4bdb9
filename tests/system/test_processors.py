"""The same seed gives the same overlays, plans and costs whatever the processor can do."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy._core import _multiarray_umath as umath  # type: ignore[attr-defined]

from semcast.trees.generators import generate
from semcast_experiments.figures.dissemination import Case, measure
from semcast_experiments.figures.ours.setup import SCHEMES

pytestmark = pytest.mark.system
_ABILITIES = [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name]]


def counted() -> str:
    """Overlays of every kind, and what every scheme costs on some of them."""
    said = []
    for kind in ("random", "waxman", "transit-stub", "power-law"):
        drawn = generate(kind, 120, np.random.default_rng(1))
        said += [kind, repr(drawn.brokers), repr(drawn.links)]
    for kind, model in (("waxman", "independent"), ("random", "arcs"), ("transit-stub", "disjoint")):
        case = Case(kind, 4.0, 60, 300, 40, model, 0.05, 3, SCHEMES, sample=300, counted=100, sources=2, looked_at=8)
        said += [repr(row) for row in measure(case)]
    return "\n".join(said)


def test_a_simpler_processor_comes_to_the_same() -> None:
    if not _ABILITIES:
        pytest.skip("numpy uses nothing here that not every such processor has")
    environ = os.environ | {"NPY_DISABLE_CPU_FEATURES": " ".join(_ABILITIES), "OPENBLAS_CORETYPE": "Prescott"}
    program = "from tests.system.test_processors import counted; print(counted())"
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == counted().splitlines()
