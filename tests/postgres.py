"""A real PostgreSQL for tests, in a folder of its own, reached over a socket in that folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from itertools import count
from pathlib import Path
from urllib.parse import quote

_ACCOUNT = "postgres"
_DEBIAN = "/usr/lib/postgresql"


def find_server() -> Path | None:
    """The folder with PostgreSQL's programs; Debian keeps them out of the path."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    versions = Path(_DEBIAN).glob("*/bin/initdb")
    return max((path.parent for path in versions), key=lambda path: int(path.parent.name), default=None)


class Postgres:
    """A server that can be stopped, started and made to stand still; it refuses to run as root."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._account = _ACCOUNT if os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="semcast-pg-", dir="/tmp"))  # a socket's path must be short
        if self._account:
            shutil.chown(self.folder, self._account)
        self._schemas = count(1)
        self._run("initdb", "-D", "data", "-A", "trust", "-U", "semcast", "--no-sync", "--locale=C", "-E", "UTF8")
        self.start()

    def url(self) -> str:
        """A schema that nobody has used, in its database."""
        import psycopg

        schema = f"s{next(self._schemas)}"
        with psycopg.connect(self._base, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {schema}")
        return f"{self._base}&options={quote(f'-c search_path={schema}')}"

    def start(self) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c fsync=off"
        self._run("pg_ctl", "-D", "data", "-l", "server.log", "-w", "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", "data", "-m", "immediate", "-w", "stop")

    def freeze(self, backend: int) -> None:
        """Let one of its processes stand still."""
        os.kill(backend, signal.SIGSTOP)

    def thaw(self, backend: int) -> None:
        os.kill(backend, signal.SIGCONT)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    @property
    def _base(self) -> str:
        return f"postgresql:///postgres?user=semcast&host={quote(str(self.folder), safe='')}"

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments],
            cwd=self.folder,
            user=self._account,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # a server that inherits a pipe keeps whoever reads it waiting
            stderr=subprocess.DEVNULL,
        )
