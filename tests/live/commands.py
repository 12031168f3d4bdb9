"""Commands as a person runs them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys


async def semcast(*words: str, stdin: str = "", url: str = "") -> subprocess.CompletedProcess[str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "semcast", *words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "SEMCAST_URL": url, "COLUMNS": "200"},
    )  # fmt: skip
    out, err = await process.communicate(stdin.encode())
    return subprocess.CompletedProcess(words, process.returncode or 0, out.decode(), err.decode())
