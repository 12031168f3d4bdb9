"""What all tests share: programs that may be missing, one Spark and one PostgreSQL for the whole run."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import hypothesis
import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.postgres import Postgres

_MISSING = "program missing: "
CANARY_P99 = "ack p99"
"""Property of a test under attack: p99 of the canary's acks in ms, calm and attacked."""

# A deadline would be a timing assertion, and the machine may be busy.
hypothesis.settings.register_profile("semcast", deadline=None)
hypothesis.settings.load_profile("semcast")

# Whoever starts the tests in the background has a shell that lets them, and all that they start, ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A Spark of a test lives for seconds, and its JVM spends half of its CPU on compiling what it never comes back to: the
# file java-opts there, which every JVM of a Spark is started with, leaves it at the quick compiler (20 → 11 s of CPU).
os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).parent / "spark"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Unit tests come last: their files take a second or two, so that all workers of a run end together."""
    units = Path(__file__).parent / "unit"
    items.sort(key=lambda item: item.path.is_relative_to(units))  # stable


@pytest.fixture
def require_program() -> Callable[[str], str]:
    """Give a function that returns a program's path, or skips the test; with CI=true it fails instead."""
    return find_program


def find_program(name: str) -> str:
    path = shutil.which(name)
    return path if path is not None else program_missing(name)


def program_missing(name: str) -> NoReturn:
    if os.environ.get("CI", "").lower() in ("", "0", "false"):
        pytest.skip(_MISSING + name)
    pytest.fail(f"{_MISSING}{name} (with CI=true every test must run; .ci/run installs what they need)", pytrace=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End with the programs whose absence cost tests, so that a green run is not taken for a full one.

    Before that: what the canary of tests/hostile noticed of each attack.
    """
    passed = [(report.nodeid, dict(report.user_properties)) for report in terminalreporter.stats.get("passed", [])]
    rows = [(nodeid.rpartition("::")[2], found[CANARY_P99]) for nodeid, found in passed if CANARY_P99 in found]
    if rows:
        terminalreporter.section("acks of the canary: p99 in ms, calm and attacked")
        for name, (calm, attacked) in sorted(rows):
            terminalreporter.line(f"{calm:8.1f} {attacked:8.1f}  {name}")
    missing: dict[str, list[str]] = {}
    for report in terminalreporter.stats.get("skipped", []):
        _, found, program = str(report.longrepr).partition(_MISSING)
        if found:
            missing.setdefault(program.strip("')\""), []).append(report.nodeid)
    if not missing:
        return
    terminalreporter.section("tests did not run", sep="!", red=True, bold=True)
    for program, tests in sorted(missing.items()):
        terminalreporter.line(f"SKIPPED because a program is missing: {program} ({len(tests)} tests)", red=True)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one embedded Spark of a test run; it takes seconds to start."""
    from semcast.pipeline.session import session

    spark = session("semcast tests", "local[2]", **{"spark.driver.memory": "1g"})
    yield spark
    spark.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The one PostgreSQL of a test run."""
    from tests.postgres import Postgres, find_server

    programs = find_server()
    if programs is None:
        program_missing("postgres")
    server = Postgres(programs)
    yield server
    server.remove()
