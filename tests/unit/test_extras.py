"""What is loaded, and what is said where something is not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCKED = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""


def run(code: str, *absent: str) -> subprocess.CompletedProcess[str]:
    program = (BLOCKED.format(names=absent) if absent else "") + code
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)


def test_a_client_loads_neither_spark_nor_engines_nor_plots() -> None:
    done = run("import sys, semcast, semcast.client; print(*sorted(sys.modules))")
    heavy = {"pyspark", "pandas", "matplotlib", "numba", "llvmlite", "pyarrow", "lxml", "starlette", "typer"}
    loaded = set(done.stdout.split())
    assert "semcast.client.client" in loaded
    assert loaded & heavy == set()


def test_a_broker_loads_no_engine_and_no_planner() -> None:
    done = run("import sys, semcast.server.broker, semcast.server.embedded; print(*sorted(sys.modules))")
    loaded = set(done.stdout.split())
    assert "semcast.server.broker" in loaded
    heavy = {"pyarrow", "lxml", "pandas", "matplotlib", "semcast.matching.segments", "semcast.planning.build"}
    assert loaded & heavy == set()


COMPOSED = """
import sys
from semcast.protocol.planned_node import planned_node
from semcast.protocol.settings import Settings
from semcast.sim.stores import MemoryNotes
planned_node("b", neighbours=[], coordinators=[], settings=Settings(), notes=MemoryNotes(), gateway={gateway})
print(*sorted(sys.modules))
"""


@pytest.mark.parametrize("gateway", [False, True])
def test_a_node_that_follows_plans_loads_its_own_parts_and_no_router(gateway: bool) -> None:
    done = run(COMPOSED.format(gateway=gateway))
    loaded = set(done.stdout.split())
    assert "semcast.protocol.broker.tree_carrier" in loaded, done.stderr
    assert not {name for name in loaded if name.startswith("semcast.protocol.semnet")}
    assert ("semcast.protocol.gateway.gateway" in loaded) == gateway
    assert "semcast.protocol.source.source" not in loaded


@pytest.mark.parametrize(
    ("extra", "module", "absent"),
    [
        ("spark", "semcast.pipeline", "pyspark"),
        ("plots", "semcast.draw.overlay", "matplotlib"),
        ("server", "semcast.server.http", "starlette"),
        ("server", "semcast.server.mqtt", "mqtt5"),
        ("server", "semcast.dashboard", "uvicorn"),
    ],
)
def test_the_extra_that_is_missing_is_named(extra: str, module: str, absent: str) -> None:
    done = run(f"import {module}", absent)
    assert done.returncode == 1
    assert f"needs {absent}, which is not installed" in done.stderr
    assert f"pip install 'semcast[{extra}]'" in done.stderr


def test_a_command_says_in_one_line_what_to_install() -> None:
    done = run(
        "import sys; sys.argv = ['semcast', 'dashboard', '--url', 'x:1']; from semcast.cli import main; main()",
        "starlette",
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: the page needs starlette, which is not installed")
    assert "Traceback" not in done.stderr


def test_another_missing_module_is_not_taken_for_an_extra() -> None:
    done = run("import semcast.draw.overlay", "numpy")
    assert "semcast[" not in done.stderr
    assert "No module named 'numpy'" in done.stderr


def test_a_command_of_another_package_says_where_that_is() -> None:
    program = """
import sys, importlib.metadata
importlib.metadata.entry_points = lambda **_: []
sys.argv = ["semcast", "bench", "matching", "--quick"]
from semcast.cli import main
main()
"""
    done = run(program)
    assert (done.returncode, done.stdout) == (1, "")
    assert "semcast bench is in the package semcast-experiments, which is not installed" in done.stderr
