"""Every example in the README and the language references is run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SEMCAST = str(Path(sys.executable).with_name("semcast"))


def blocks(language: str, page: str = "README.md") -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    assert found
    return found


@pytest.mark.spark
def test_python_examples_run_as_they_stand(tmp_path: Path) -> None:
    program = tmp_path / "readme.py"
    program.write_text("\n".join(blocks("python")))
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, cwd=tmp_path, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize(
    "page", ["docs/topics.md", "docs/xpath.md", "docs/semantic.md", "docs/topologies.md", "docs/trees.md"]
)
def test_examples_of_a_page_run(page: str) -> None:
    for block in blocks("python", page):
        exec(compile(block, page, "exec"), {})


def test_commands_print_what_the_readme_shows() -> None:
    sessions = [re.split(r"^\$ ", block, flags=re.MULTILINE)[1:] for block in blocks("console")]
    for command, shown in (step.split("\n", 1) for session in sessions for step in session):
        words = shlex.split(command)
        assert words[0] == "semcast"
        done = subprocess.run([SEMCAST, *words[1:]], capture_output=True, text=True, timeout=60)
        assert (done.stdout, done.stderr) == (shown, ""), command


def test_commands_that_are_only_named_exist() -> None:
    for line in "".join(blocks("sh")).splitlines():
        words = shlex.split(line, comments=True)
        if words[0] == "semcast":
            options = [word for word in words if word.startswith("--")]
            told = subprocess.run([SEMCAST, words[1], "--help"], capture_output=True, text=True, timeout=60).stdout
            assert all(option in told for option in options), line
        else:
            assert words[0] == "make"
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
