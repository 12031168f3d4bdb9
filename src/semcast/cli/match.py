"""`semcast match`: files of messages against a file of profiles, on Spark."""

from __future__ import annotations

import dataclasses
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semcast.cli import render
from semcast.cli.options import Json, LanguageName, Master, Namespaces, SchemaText, read_namespaces, read_schema
from semcast.model import SemcastError

if TYPE_CHECKING:
    from semcast.pipeline.tally import Tally


def match(
    profiles: Annotated[Path, typer.Option(help="Profiles: JSON Lines, CSV or Parquet with id, language and text.")],
    messages: Annotated[
        Path,
        typer.Option(help="Messages: a file, folder or pattern of JSON Lines, CSV, Parquet or (xpath, semantic) XML."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where the result goes: one JSON line per message that any profile matches. Default: stdout."
        ),
    ] = None,
    language: LanguageName = None,
    schema: SchemaText = None,
    namespace: Namespaces = None,
    master: Master = None,
    json: Json = False,
) -> None:
    """Match messages against profiles on Spark.

    Each line of the result names a message by its row (0-based; for JSON Lines the line number, also when
    other lines are bad; for XML files the place of its name in order) and the profiles that match it:
    {"message": 17, "profiles": ["p1", "p9"]}.
    Messages that no profile matches have no line. What cannot be read is counted and reported.
    """
    if json and out is None:
        raise SemcastError("--json prints a summary on stdout, so the result needs a file: give --out")
    if out is not None and not out.parent.is_dir():
        raise SemcastError(f"{out.parent}: no such folder")
    from semcast.pipeline.files import data_files
    from semcast.pipeline.records import read_profiles

    declared, namespaces = read_schema(schema), read_namespaces(namespace)
    with render.step(f"reading profiles from {profiles}"):
        found = read_profiles(profiles, language, declared, namespaces)
    for other, number in found.others.items():
        render.say(f"{number:,} profiles in {other} are left out (--language {found.language.name})")
    read_namespaces(namespace, found.language)
    data_files(messages)  # complains before Spark starts
    with render.step("starting Spark"):
        from semcast.cli.spark import session
        from semcast.pipeline.messages import Source, match_messages
        from semcast.pipeline.progress import watched

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
    complain(tally)
    if json:
        render.data(
            {**dataclasses.asdict(tally), "profiles": len(found.records), "seconds": round(seconds, 3), "out": str(out)}
        )
    render.say(
        f"{tally.messages:,} messages, {len(found.records):,} profiles: {tally.pairs:,} matches in "
        f"{tally.matched:,} messages, {_unread(tally)}{seconds:.1f} s" + (f", written to {out}" if out else "")
    )


def complain(tally: Tally) -> None:
    """Say what could not be used, and where the first of it stands."""
    from semcast.pipeline.lines import MAX_LINE

    if tally.bad:
        rows = _rows(tally.first_bad, tally.bad)
        long = f"; {tally.too_long:,} of them are longer than {MAX_LINE >> 20} MB" if tally.too_long else ""
        render.say(f"{tally.bad:,} of {tally.messages:,} messages could not be read and were left out ({rows}){long}")
    for name, number in sorted(tally.unfit.items()):
        render.say(f"{number:,} values of {name!r} were of a kind that no profile compares it with, and count as NULL")
    if tally.unreadable:
        why = ", ".join(f"{number:,} {reason}" for reason, number in sorted(tally.unreadable_why.items()))
        rows = _rows(tally.first_unreadable, tally.unreadable)
        render.say(f"{tally.unreadable:,} payloads could not be read and match nothing: {why} ({rows})")


def _rows(first: list[int], count: int) -> str:
    return f"rows {', '.join(map(str, first))}" + (", …" if count > len(first) else "")


def _unread(tally: Tally) -> str:
    """For the closing line: payloads that were not there, and ones that could not be read."""
    words = f"{tally.unreadable:,} unreadable, " if tally.unreadable else ""
    return words + (f"{tally.missing:,} without payload, " if tally.missing else "")
