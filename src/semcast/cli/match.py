"""`semcast match`: files of messages against a file of profiles, on Spark."""

from __future__ import annotations

import dataclasses
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer

from semcast.cli import render
from semcast.cli.options import Json, LanguageName, Master, SchemaText, read_schema
from semcast.model import SemcastError


def match(
    profiles: Annotated[Path, typer.Option(help="Profiles: JSON Lines, CSV or Parquet with id, language and text.")],
    messages: Annotated[Path, typer.Option(help="Messages: a file or folder of JSON Lines, CSV or Parquet.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where the result goes: one JSON line per message that any profile matches. Default: stdout."
        ),
    ] = None,
    language: LanguageName = None,
    schema: SchemaText = None,
    master: Master = None,
    json: Json = False,
) -> None:
    """Match messages against profiles on Spark.

    Each line of the result names a message by its row (0-based; for JSON Lines the line number, also when
    other lines are bad) and the profiles that match it: {"message": 17, "profiles": ["p1", "p9"]}.
    Messages that no profile matches have no line. What cannot be read is counted and reported.
    """
    if json and out is None:
        raise SemcastError("--json prints a summary on stdout, so the result needs a file: give --out")
    if out is not None and not out.parent.is_dir():
        raise SemcastError(f"{out.parent}: no such folder")
    from semcast.pipeline.records import read_profiles

    declared = read_schema(schema)
    with render.step(f"reading profiles from {profiles}"):
        found = read_profiles(profiles, language, declared)
    for other, number in found.others.items():
        render.say(f"{number:,} profiles in {other} are left out (--language {found.language.name})")
    if not messages.exists():
        raise SemcastError(f"{messages}: no such file or folder")
    with render.step("starting Spark"):
        from semcast.pipeline.messages import Source, match_messages
        from semcast.pipeline.progress import watched
        from semcast.pipeline.session import session

        spark = session(master=master)
    with tempfile.TemporaryDirectory() as folder:
        target = out or Path(folder, "matches.jsonl")
        source = Source(spark, messages)
        for name, near in source.missing(found.language.wanted([r.profile for r in found.records])).items():
            hint = f" (did you mean {near!r}?)" if near else ""
            render.say(f"{messages} has no column {name!r}{hint}; it counts as NULL")
        begin = time.perf_counter()
        text = f"matching {messages} against {len(found.records):,} profiles"
        with render.step(text) as shown, watched(spark, shown.report):
            tally = match_messages(source, found.language, found.records, declared, target)
        seconds = time.perf_counter() - begin
        if out is None:
            with target.open() as lines:
                shutil.copyfileobj(lines, sys.stdout)
    if tally.bad:
        rows = ", ".join(map(str, tally.first_bad)) + (", …" if tally.bad > len(tally.first_bad) else "")
        render.say(f"{tally.bad:,} of {tally.messages:,} messages could not be read and were left out (rows {rows})")
    for name, number in sorted(tally.unfit.items()):
        render.say(f"{number:,} values of {name!r} were of a kind that no profile compares it with, and count as NULL")
    if json:
        render.data(
            {**dataclasses.asdict(tally), "profiles": len(found.records), "seconds": round(seconds, 3), "out": str(out)}
        )
    render.say(
        f"{tally.messages:,} messages, {len(found.records):,} profiles: {tally.pairs:,} matches in "
        f"{tally.matched:,} messages, {seconds:.1f} s" + (f", written to {out}" if out else "")
    )
