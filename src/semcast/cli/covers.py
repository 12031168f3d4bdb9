"""`semcast covers`: does one profile cover another?"""

from __future__ import annotations

from typing import Annotated

import typer

from semcast.cli import render
from semcast.cli.options import Json, Namespaces, SchemaText, read_namespaces, read_schema
from semcast.matching import language as by_name
from semcast.model import ProfileError, SemcastError


def covers(
    a: Annotated[str, typer.Argument(metavar="A", help="The profile that may cover.", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="The profile that may be covered.", show_default=False)],
    language: Annotated[str, typer.Option("--language", "-l", help="The profile language.")] = "relational",
    schema: SchemaText = None,
    namespace: Namespaces = None,
    json: Json = False,
) -> None:
    """Print true if every message that matches B matches A, else false.

    true is always right; false may also mean that it could not be shown.
    """
    chosen, declared = by_name(language), read_schema(schema)
    namespaces = read_namespaces(namespace, chosen)
    parsed = []
    for name, text in (("A", a), ("B", b)):
        try:
            parsed.append(chosen.parse(text, declared, namespaces=namespaces))
        except ProfileError as error:
            raise SemcastError(f"in {name}: {error}") from error
    answer = chosen.covers(*parsed)
    if json:
        render.data({"covers": answer, "overlaps": chosen.overlaps(*parsed), "a": str(parsed[0]), "b": str(parsed[1])})
    else:
        render.stdout.print("true" if answer else "false")
