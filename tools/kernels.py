"""Have all kernels compiled and in numba's cache, on two cores at a time.

usage: kernels.py

Compiling takes two minutes of CPU where nothing is cached. Each process that comes to a kernel before it is cached
compiles it for itself: two workers of a test run both compile all of them, and with them every command they start.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import semcast
from semcast.matching import LANGUAGES
from semcast.server.warmup import warm_matching

LANES = (("matching",), ("trees", "channels", "planning", "protocol"))
"""Packages by process: about as long, and what one needs of another is compiled in the same process before."""


def main() -> int:
    with ProcessPoolExecutor(len(LANES), get_context("spawn")) as pool:
        list(pool.map(compile_lane, LANES))
    return 0


def compile_lane(packages: tuple[str, ...]) -> None:
    for package in packages:
        for module in kernel_modules(package):
            import_module(module)  # most have signatures: they are compiled when they are defined
    if "matching" in packages:
        for language in LANGUAGES:
            warm_matching(language)


def kernel_modules(package: str) -> Iterator[str]:
    root = Path(semcast.__path__[0])
    for file in sorted((root / package).rglob("*.py")):
        if "@njit" in file.read_text():
            yield ".".join(("semcast", *file.relative_to(root).with_suffix("").parts))


if __name__ == "__main__":
    sys.exit(main())
