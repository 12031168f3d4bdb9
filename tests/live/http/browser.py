"""A headless Chromium, told what to do over its DevTools socket."""

from __future__ import annotations

import json
import re
import subprocess
import time
from base64 import b64decode
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

_CODES = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


class Page:
    """One page; scripts run in it. ``troubles`` are errors that nobody caught, and what its console calls wrong."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0
        self._session: str | None = None
        self._target: str | None = None
        self.requests: list[str] = []
        self.troubles: list[str] = []
        self.strict = False
        """Is an answer that is no success a trouble?"""

    def open(self, url: str) -> None:
        self._session = None
        if self._target is not None:
            self._do("Target.closeTarget", targetId=self._target)
        target = self._target = self._do("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._do("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Network", "Runtime", "Log"):
            self._do(f"{domain}.enable")
        self._do("Page.navigate", url=url)
        self.until(f"location.protocol === '{url.split(':')[0]}:' && document.readyState === 'complete'")

    def look(self, width: int, height: int, *, dark: bool = False) -> None:
        """On a screen of this size, for somebody who likes it dark or not."""
        self._do(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._do("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, file: Path) -> None:
        """All of the page, as a PNG."""
        file.parent.mkdir(parents=True, exist_ok=True)
        found = self._do("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(b64decode(found["data"]))

    def press(self, key: str) -> None:
        """A key of the keyboard, to whatever has the focus."""
        about = {"key": key, "code": key, "windowsVirtualKeyCode": _CODES.get(key, 0)}
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        self._do("Input.dispatchKeyEvent", type="keyDown", text=text, **about)
        self._do("Input.dispatchKeyEvent", type="keyUp", **about)

    def click(self, x: float, y: float) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self._do("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

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
            case "Log.entryAdded" if parameters["entry"]["source"] == "security" or self.strict:
                self.troubles.append(parameters["entry"]["text"])
            case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning"):
                self.troubles.append(str(parameters["args"]))


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
