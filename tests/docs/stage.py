"""Where the blocks of a page are run: a folder, an environment, programs that go on in the background.

A page's blocks follow each other as a reader would try them: files that one writes are there for the next, names of one
Python block are known in the next, and what a page starts in one terminal goes on while it uses others. Ports,
addresses and folders of the system are translated to free ones. An overlay is brought up in one process, and nobody
in it is taken for dead, so that a busy machine changes nothing.
"""

from __future__ import annotations

import io
import os
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from semcast.cli import main
from tests.docs.blocks import ROOT, Block, Command, as_shown, commands
from tests.live.overlays import CALM

PATIENCE_S = 300.0
"""Long: where nothing is compiled yet, whoever comes first compiles for minutes."""
PORTS = ("7400", "7401", "7402", "7480")
ON_SPARK = {"match", "plan", "cost", "explain"}
"""Run within this process, whose Spark they find running: a Spark for each would take minutes."""
FOLLOWERS = re.compile(
    r"semcast (up|coordinator|broker|dashboard|subscribe(?!.* --(count|timeout)))\b|curl -s?N|mosquitto_sub(?!.* -C)"
)
READY = {
    "up": '"ready"',
    "coordinator": '"address"',
    "broker": '"address"',
    "subscribe": "live",
    "dashboard": "http://",
}


@dataclass
class Follower:
    """A program in a terminal of its own."""

    command: Command
    process: subprocess.Popen[bytes]
    log: Path

    def printed(self) -> str:
        return self.log.read_text(errors="replace")


class Stage:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.printed = ""
        """What the last block printed."""
        self._followers: list[Follower] = []
        self._translation = {port: str(_free_port()) for port in PORTS}
        self._host = f"127.{random.SystemRandom().randrange(2, 250)}.{os.getpid() % 250 + 1}."
        near = str(Path(sys.executable).parent)
        self.environ = os.environ | {"PATH": f"{near}:{os.environ['PATH']}", "COLUMNS": "100", "PYTHONUNBUFFERED": "1"}
        self.environ.pop("SEMCAST_URL", None)
        self._examples()

    def _examples(self) -> None:
        shutil.copytree(ROOT / "examples", self.folder / "examples")
        for file in (self.folder / "examples").glob("*.toml"):
            file.write_text(self._calm(self.translated(file.read_text())))

    def _calm(self, text: str) -> str:
        """A deployment in which nobody is taken for dead, however busy the machine is."""
        text = re.sub(r"^dead_s = .*\n", "", text, flags=re.MULTILINE)
        if "[settings]" not in text:
            return f"{text}\n[settings]\n{CALM}\n"
        return re.sub(r"^\[settings\].*$", f"[settings]\n{CALM}", text, flags=re.MULTILINE)

    def translated(self, text: str) -> str:
        """With ports and addresses that are free here; ``10.0.0.n`` is a loopback address of its own."""
        for port, free in self._translation.items():
            text = re.sub(rf"(?<![\w.]){port}(?!\w)", free, text)
        text = re.sub(r"\b10\.0\.0\.(?=\d)", self._host, text)
        return text.replace("/var/lib/semcast", str(self.folder / "var")).replace(
            "/etc/semcast", str(self.folder / "etc")
        )

    def write(self, block: Block) -> None:
        """A file that the page tells the reader to make."""
        file = self.folder / self.translated(block.about)  # an absolute path stays one
        file.parent.mkdir(parents=True, exist_ok=True)
        text = self.translated(block.text)
        file.write_text(self._calm(text) if block.language == "toml" else text)

    def python(self, block: Block) -> None:
        """Run a block in this process, with the names of the page's earlier ones."""
        program = compile("\n" * block.line + self.translated(block.text), str(ROOT / block.page), "exec")
        with self._within(), redirect_stdout(io.StringIO()) as out:
            exec(program, self.names)
        self.printed = out.getvalue()

    def bring_up(self) -> None:
        """The overlay that a page takes for granted: that of examples/up.toml."""
        self._follow(Command("semcast up examples/up.toml"))

    def shell(self, block: Block) -> None:
        """Run a block's commands one by one; each must end well, and print what the page shows."""
        said = []
        for command in commands(block):
            line = self.translated(command.line)
            if exported := re.fullmatch(r"export (\w+)=(\S+)", line.strip()):
                self.environ[exported[1]] = exported[2]
            elif FOLLOWERS.match(line):
                self._follow(Command(line, self.translated(command.shown)))
            else:
                said.append(self._run(line))
                if command.shown:
                    shown = self.translated(command.shown)
                    assert as_shown(shown, said[-1]), f"{block}: {line}\nshown:\n{shown}\nprinted:\n{said[-1]}"
        self.printed = "".join(said)

    def check_output(self, block: Block) -> None:
        shown = self.translated(block.text)
        if self.printed:
            assert as_shown(shown, self.printed), f"{block} shows:\n{shown}\nprinted:\n{self.printed}"
        else:
            self._await(self._followers[-1], shown)

    def close(self) -> None:
        """Wait until each follower has printed what the page shows of it, and end all, clients before servers."""
        try:
            for follower in self._followers:
                if follower.command.shown:
                    self._await(follower, follower.command.shown)
        finally:
            ended = {follower.command.line: _ended(follower) for follower in reversed(self._followers)}
        assert all(code in (0, 130, -signal.SIGINT) for code in ended.values()), ended

    def _run(self, line: str) -> str:
        words = shlex.split(line, comments=True)
        if (
            words[0] == "semcast"
            and words[1] in ON_SPARK
            and not re.search(r"[|>&;] ", re.sub(r"'.*?'|\".*?\"", "", line))
        ):
            return self._run_here(words)
        done = subprocess.run(
            ["bash", "-euc", line], cwd=self.folder, env=self.environ, timeout=PATIENCE_S, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout[-3000:]}"
        return done.stdout

    def _run_here(self, words: list[str]) -> str:
        before, sys.argv = sys.argv, words
        try:
            with self._within(), redirect_stdout(io.StringIO()) as out, redirect_stderr(out):
                main()
        except SystemExit as end:
            if end.code:
                raise AssertionError(f"{shlex.join(words)}\n{out.getvalue()}") from None
        finally:
            sys.argv = before
        return out.getvalue()

    @contextmanager
    def _within(self) -> Iterator[None]:
        where, environ = Path.cwd(), dict(os.environ)
        os.chdir(self.folder)
        os.environ.update(self.environ)
        try:
            yield
        finally:
            os.chdir(where)
            os.environ.clear()
            os.environ.update(environ)

    def _follow(self, command: Command) -> None:
        log = self.folder / f"terminal{len(self._followers)}.log"
        more = " --port 0" if command.line.startswith("semcast dashboard") and "--port" not in command.line else ""
        more += " --embedded" if command.line.startswith("semcast up") and "--embedded" not in command.line else ""
        line = re.sub(r"\s+#.*$", "", command.line) + more
        before = self._sessions()
        with log.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {line}"], cwd=self.folder, env=self.environ, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
        follower = Follower(command, process, log)
        self._followers.append(follower)
        words = line.split()
        if words[0] == "semcast":
            self._await(follower, f"…{READY[words[1]]}")
        else:
            self._until(lambda: self._sessions() > before, follower)

    def _sessions(self) -> int:
        """Live subscriptions at the gateway of the page's overlay."""
        try:
            with urlopen(f"http://127.0.0.1:{self._translation['7402']}/subz", timeout=10) as answer:
                return answer.read().count(b'"live": true')
        except OSError:
            return 0

    def _await(self, follower: Follower, shown: str) -> None:
        """It goes on, so a page shows the beginning of what it prints."""
        self._until(lambda: as_shown(f"{shown.rstrip()}…", follower.printed()), follower)

    def _until(self, holds: Any, follower: Follower) -> None:
        end = time.monotonic() + PATIENCE_S
        while not holds():
            gone = follower.process.poll() is not None
            if (gone and not holds()) or time.monotonic() > end:
                shown = follower.command.shown
                raise AssertionError(
                    f"{follower.command.line}\nshown:\n{shown}\nprinted:\n{follower.printed()[-3000:]}"
                )
            time.sleep(0.05)


def _ended(follower: Follower) -> int | None:
    """Its exit code; None where it had to be killed."""
    follower.process.send_signal(signal.SIGINT)
    try:
        return follower.process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        follower.process.kill()
        follower.process.wait()
        return None


def _free_port() -> int:
    """A port that nobody has, below those that others are given by chance."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
