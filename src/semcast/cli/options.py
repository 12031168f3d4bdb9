"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from semcast.matching import Language
from semcast.model import Schema, SemcastError

LanguageName = Annotated[
    str | None,
    typer.Option("--language", "-l", help="The profile language, for example relational.", show_default=False),
]
SchemaText = Annotated[
    str | None,
    typer.Option(
        "--schema",
        help="The stream's attributes, as 'symbol STRING, price DOUBLE', or a file that holds that. "
        "With it, unknown attributes and clashes of kinds are errors.",
        show_default=False,
    ),
]
Namespaces = Annotated[
    list[str] | None,
    typer.Option(
        "--namespace",
        metavar="PREFIX=URI",
        help="What a prefix in XPath profiles means, as n=urn:news; may be repeated.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]
Master = Annotated[
    str | None,
    typer.Option("--master", help="Where Spark runs; by default all cores of this machine.", show_default=False),
]


def read_schema(text: str | None) -> Schema | None:
    """The schema that ``--schema`` gives: itself, or the file it names."""
    if text is None:
        return None
    path = Path(text)
    try:
        is_file = path.is_file()
    except OSError:  # too long for a file's name, so it is a schema
        is_file = False
    if is_file:
        text = path.read_text()
    elif " " not in text.strip() and ":" not in text:
        raise SemcastError(f"{text}: no such file, and no schema either: write 'symbol STRING, price DOUBLE'")
    return Schema.from_ddl(text.strip())


def read_namespaces(given: list[str] | None, chosen: Language[Any] | None = None) -> dict[str, str]:
    """The prefix map that ``--namespace`` gives; refused for a language whose names have no prefixes."""
    if given and chosen is not None and not chosen.has_namespaces:
        raise SemcastError(f"--namespace: names in {chosen.name} profiles have no prefixes")
    found: dict[str, str] = {}
    for text in given or []:
        prefix, equals, uri = text.partition("=")
        if not equals or not prefix or not uri:
            raise SemcastError(f"--namespace {text}: write PREFIX=URI, as n=urn:news")
        if found.setdefault(prefix, uri) != uri:
            raise SemcastError(f"--namespace: the prefix {prefix!r} is given two namespaces")
    return found


def spark_settings(given: list[str], jars: str | None = None, packages: str | None = None) -> dict[str, str]:
    """Spark's settings: what is needed, and what ``--conf`` gives."""
    found = {"spark.jars": jars} if jars else {"spark.jars.packages": packages} if packages else {}
    for setting in given:
        key, equals, value = setting.partition("=")
        if not equals or not key.startswith("spark."):
            raise SemcastError(f"--conf {setting!r}: write spark.KEY=VALUE")
        found[key] = value
    return found
