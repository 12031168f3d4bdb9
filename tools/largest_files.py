"""Fail on Python files that have grown too long to be read at a sitting.

usage: largest_files.py FOLDER...
"""

from __future__ import annotations

import sys
from pathlib import Path

SEAM = 400  # lines: time to look for one
LIMIT = 600


def main(folders: list[str]) -> int:
    files = sorted(path for folder in folders for path in Path(folder).rglob("*.py"))
    lengths = {path: len(path.read_bytes().splitlines()) for path in files}
    for path, lines in sorted(lengths.items(), key=lambda item: -item[1]):
        if lines > LIMIT:
            print(f"error: {path} has {lines} lines; {LIMIT} is the limit, split it")
        elif lines > SEAM:
            print(f"warning: {path} has {lines} lines; look for a seam")
    return int(any(lines > LIMIT for lines in lengths.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
