"""A case for `semcast plan` and `semcast cost`, in files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from semcast.cli import _register, app
from semcast.model import SemcastError
from semcast.trees.topology import Topology


def written(path: Path, rows: list[object]) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


class Case:
    """A small overlay with profiles and messages in files."""

    def __init__(self, folder: Path, topology: Topology, gateways: bool = True) -> None:
        self.folder = folder
        self.names = topology.ids(topology.gateways)
        (folder / "t.json").write_text(topology.to_json())
        rng = np.random.default_rng(4)
        profiles = [
            {"id": f"p{n}", "language": "relational", "text": f"x >= {low} AND x < {low + width}"}
            | ({"gateway": [self.names[n % 3], self.names[n % 5]] if n % 2 else self.names[n % 7]} if gateways else {})
            for n, (low, width) in enumerate(zip(rng.integers(0, 20, 50), rng.integers(1, 6, 50), strict=True))
        ]
        self.profiles = profiles
        written(folder / "p.jsonl", list(profiles))
        written(folder / "m.jsonl", [{"x": int(x)} for x in rng.integers(0, 25, 300)])
        self.source = topology.brokers[0].id

    def run(self, *words: str, code: int = 0) -> tuple[str, str]:
        files = ["--profiles", "p.jsonl", "--topology", "t.json"]
        if "--messages" not in words:
            files += ["--messages", "m.jsonl"]
        if "--source" not in words:
            files += ["--source", self.source]
        given = [str(self.folder / word) if word.endswith(("jsonl", ".json")) else word for word in (*words, *files)]
        _register()
        done = CliRunner().invoke(app, given)
        if code == 0:
            assert done.exit_code == 0, (done.output, done.exception)
        else:
            assert isinstance(done.exception, SemcastError), done.output
            return "", str(done.exception)
        return done.stdout, done.stderr
