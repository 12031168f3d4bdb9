"""A headless Chromium, told what to do over its DevTools socket."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.live.http.running import PATIENCE_S

_OPTIONS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--remote-debugging-port=0",
]  # fmt: skip


class Page:
    """One page; scripts run in it."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0
        self._session: str | None = None
        self.requests: list[str] = []
        self.troubles: list[str] = []

    def open(self, url: str) -> None:
        self._session = None
        target = self._do("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Network", "Runtime", "Log"):
            self._do(f"{domain}.enable")
        self._do("Page.navigate", url=url)
        self.until("location.protocol === 'http:' && document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """The value of an expression."""
        found = self._do("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, script: str) -> None:
        end = time.monotonic() + PATIENCE_S
        while not self.run(script):
            assert time.monotonic() < end, f"never true: {script}; the page shows {self.run('document.body.innerText')}"
            time.sleep(0.05)

    def _do(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        word = {"id": self._number, "method": method, "params": parameters}
        self._socket.send(json.dumps(word | ({"sessionId": self._session} if self._session else {})))
        while True:
            said = json.loads(self._socket.recv(PATIENCE_S))
            if said.get("id") == self._number:
                assert "error" not in said, said
                result: dict[str, Any] = said["result"]
                return result
            self._happened(said)

    def _happened(self, said: dict[str, Any]) -> None:
        parameters = said.get("params", {})
        match said.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case "Runtime.exceptionThrown":
                self.troubles.append(str(parameters["exceptionDetails"]))
            case "Log.entryAdded" if parameters["entry"]["source"] == "security":
                self.troubles.append(parameters["entry"]["text"])


@contextmanager
def browsing(program: str, folder: Path) -> Iterator[Page]:
    """A browser for as long as it is needed."""
    process = subprocess.Popen(
        [program, *_OPTIONS, f"--user-data-dir={folder}", "about:blank"], stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        found = next(filter(None, (re.search(r"DevTools listening on (ws://\S+)", line) for line in process.stderr)))
        with connect(found[1], max_size=None) as socket:
            yield Page(socket)
    finally:
        process.terminate()
        process.wait()
