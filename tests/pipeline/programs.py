"""A machine that has few programs."""

from __future__ import annotations

import shutil
from pathlib import Path


def path_without_java(folder: Path) -> str:
    """A PATH that holds what Spark's start scripts call, and nothing else."""
    folder.mkdir()
    for name in ("bash", "cat", "dirname", "head", "ps", "uname"):
        program = shutil.which(name)
        if program is not None:
            (folder / name).symlink_to(program)
    return str(folder)
