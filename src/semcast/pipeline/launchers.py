"""Programs of a few lines that stand before those that Spark starts, in a folder of their own.

Spark builds the command lines of its JVM and of its Python workers by itself. The one place to change an argument or
a variable of theirs is the program that it runs.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

_PYTHON = """\
#!/bin/sh
# Written by semcast: Python for Spark's workers, which finds pyspark where it is installed, compiled.
set -f
kept=
IFS=:
for entry in $PYTHONPATH; do
    case $entry in
        */python/lib/pyspark.zip | */python/lib/py4j-*-src.zip) ;;
        *) kept=${{kept:+$kept:}}$entry ;;
    esac
done
unset IFS
PYTHONPATH=$kept exec {python} "$@"
"""


def worker_python(environ: Mapping[str, str] = os.environ) -> str:
    """Return what to start Python workers with, where they and this process have the same pyspark installed.

    Spark puts zip files with the sources of pyspark before everything else on a worker's path, to be compiled anew by
    each process that starts: 1.0 s of CPU in place of 0.3 s. Some have to answer within 10 s, which nothing can change
    (those of streaming sources), and a busy machine gives them less than that.
    """
    script = os.fsencode(_PYTHON.format(python=shlex.quote(sys.executable)))
    name = f"python-{hashlib.sha256(script).hexdigest()[:12]}"
    launcher = installed(script, Path(name, "bin", "python"), environ)
    return sys.executable if launcher is None else str(launcher)


def installed(script: bytes, place: Path, environ: Mapping[str, str]) -> Path | None:
    """Return where the program now is: below the first folder that takes it safely; None where there is no such one.

    ``place`` should have something of the script in its name: then no other version of us finds a stale one.
    """
    for folder in _folders(environ):
        try:
            return _install(script, folder, place)
        except OSError:
            continue
    return None


def _folders(environ: Mapping[str, str]) -> Iterator[Path]:
    cache = environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(cache):  # the XDG specification: relative ones are to be ignored
        yield Path(cache, "semcast")
    home = environ.get("HOME", "")
    if os.path.isabs(home):
        yield Path(home, ".cache", "semcast")
    yield Path(tempfile.gettempdir(), f"semcast-{os.getuid()}")


def _install(script: bytes, folder: Path, place: Path) -> Path:
    """Write the program unless it is there; OSError where it could not be run safely.

    Many processes may do this at once: each writes its own file and renames it into place.
    """
    program = folder / place
    folder.parent.mkdir(parents=True, exist_ok=True)
    for made in (folder, *(folder / parent for parent in reversed(place.parents[:-1]))):
        made.mkdir(mode=0o700, exist_ok=True)
        _refuse_unsafe(made)
    if not (program.is_file() and program.read_bytes() == script):
        _write(script, program)
    if not os.access(program, os.X_OK):  # also where the file system is mounted noexec
        raise PermissionError(f"{program} cannot be executed")
    return program


def _refuse_unsafe(folder: Path) -> None:
    """Refuse a folder that others may write to: under a shared temporary folder anyone could plant a program."""
    status = folder.stat()
    owners = {status.st_uid, folder.lstat().st_uid}  # a symbolic link has an owner of its own
    if owners != {os.getuid()} or status.st_mode & 0o022:
        raise PermissionError(f"{folder} is open to other users")


def _write(script: bytes, program: Path) -> None:
    handle, draft = tempfile.mkstemp(dir=program.parent, prefix=f".{program.name}-")
    try:
        with open(handle, "wb") as file:
            file.write(script)
        os.chmod(draft, 0o700)
        os.replace(draft, program)
    except OSError:
        os.unlink(draft)
        raise
