"""A listener that vouches for whoever is named: for neighbours that are played over raw connections."""

from __future__ import annotations

import socket
import threading

from semcast.protocol.wire.codec import Decoder, encode
from semcast.protocol.wire.frames import Hello, Vouch, Vouched


class Voucher:
    """Where brokers that call a played neighbour back hear that it is right. It lives in a thread of its own."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def hello(self, name: str) -> bytes:
        """The first bytes of a neighbour's connection."""
        return encode(Hello(name, "broker", 1, self.address, name.encode()))

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._server.accept()
            except OSError:
                return  # it was closed
            with line:
                for question in Decoder().feed(line.recv(4096)):
                    if isinstance(question, Vouch):
                        line.sendall(encode(Vouched(question.proof.decode(), True)))

    def close(self) -> None:
        """A listener that is only closed would go on waiting in its thread."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(10)
