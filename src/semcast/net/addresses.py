"""host:port, as people and members write it."""

from __future__ import annotations

from semcast.model import SemcastError


def split_address(address: str) -> tuple[str, int]:
    """host:port as a pair; SemcastError where it is not one."""
    host, _, port = address.rpartition(":")
    if not port.isdigit() or not port.isascii() or int(port) > 65535:
        raise SemcastError(f"{address!r} is not an address: write host:port, for example 127.0.0.1:7400")
    return host.strip("[]") or "127.0.0.1", int(port)
