"""Processes with clients in them: they take orders as lines of JSON, one at a time, and answer each with a line."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from semcast.model import SemcastError

PATIENCE_S = 900.0
_END_S = 10.0

Orders = Mapping[str, Callable[..., Awaitable[Any]]]


class Worker:
    """A process that was started here; it ends when it is closed, or when this process is gone."""

    def __init__(self, name: str, module: str, folder: Path, **options: Any) -> None:
        self.name = name
        self._log = folder / f"{name}.log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, json.dumps(options)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        self._answers: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put(b"")

    def order(self, what: str, **about: Any) -> None:
        """Give an order and go on; its answer is taken by ``answer``."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # ``answer`` says why it has gone
            self._process.stdin.write(json.dumps([what, about]).encode() + b"\n")
            self._process.stdin.flush()

    def answer(self, patience_s: float = PATIENCE_S) -> Any:
        try:
            line = self._answers.get(timeout=patience_s)
        except queue.Empty:
            raise SemcastError(f"{self.name} has not answered for {patience_s:g} s") from None
        found = json.loads(line) if line else {"error": self._last_words()}
        if "error" in found:
            raise SemcastError(f"{self.name}: {found['error']}")
        return found["answer"]

    def ask(self, what: str, **about: Any) -> Any:
        """Give an order and wait until it is done."""
        self.order(what, **about)
        return self.answer()

    def _last_words(self) -> str:
        words = self._log.read_text(errors="replace").strip().splitlines()
        return words[-1] if words else "it has ended"

    def close(self) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


async def obey(orders: Orders) -> None:
    """In the worker: do what stdin says until it ends."""
    import asyncio

    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.buffer.readline):
        what, about = json.loads(line)
        try:
            answer = {"answer": await orders[what](**about)}
        except (SemcastError, TimeoutError) as error:
            answer = {"error": str(error) or type(error).__name__}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
