"""What code a trial may depend on: the module that measures and all that it imports, found by reading them."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import semcast
import semcast_experiments

_ROOTS = {module.__name__: Path(module.__path__[0]).parent for module in (semcast, semcast_experiments)}
"""By package, the folder that it stands in."""
_APART = frozenset(
    f"semcast_experiments.figures.{name}" for name in ("claims", "lines", "output", "trials", "dependencies")
) | {"semcast.model.palette"}
"""How results are kept, judged and drawn: no trial computes with it."""


@cache
def code_digest(module: str) -> str:
    """Of everything that a trial of this module may compute with, wherever it stands."""
    digest = hashlib.sha256()
    for name, path in sorted(dependencies(module).items()):
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def dependencies(module: str) -> dict[str, Path]:
    """The module and all of this package that it imports, also within functions, directly or not; by name its file."""
    found: dict[str, Path] = {}
    left = [module]
    while left:
        name = left.pop()
        path = _file(name)
        if path is None or name in found or name in _APART:
            continue
        found[name] = path
        left += _imported(path)
    return found


def _file(name: str) -> Path | None:
    """Where a module stands; None for what is no module, as names that are imported from one."""
    root = _ROOTS.get(name.partition(".")[0])
    if root is None:
        own = sys.modules[name].__file__ if name in sys.modules else None
        return None if own is None else Path(own)
    base = root.joinpath(*name.split("."))
    return next((path for path in (base / "__init__.py", base.with_suffix(".py")) if path.exists()), None)


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        yield from (name for name in names if name.partition(".")[0] in _ROOTS)
