"""The reference of docs/api.md: complete, with a docstring for everything, and as the code has it."""

from __future__ import annotations

import re

import semcast
import semcast.client
import semcast.pipeline
from tests.docs.blocks import ROOT
from tools.api_page import MODULES, members, page, public, text_of

PAGE = ROOT / "docs" / "api.md"


def undocumented(things: dict[str, object]) -> list[str]:
    """Names, and members of classes, that say nothing of their own."""
    found = [name for name, thing in things.items() if not text_of(thing)]
    for name, thing in things.items():
        if isinstance(thing, type):
            found += [f"{name}.{inner}" for inner, member in members(thing).items() if not text_of(member)]
    return found


def test_the_page_is_what_the_docstrings_say() -> None:
    assert PAGE.read_text() == page(), "make docs/api.md anew: python tools/api_page.py > docs/api.md"


def test_every_public_name_has_a_docstring() -> None:
    for module in MODULES:
        assert undocumented(public(module)) == []


def test_every_public_name_is_on_the_page() -> None:
    text = PAGE.read_text()
    shown = set(re.findall(r"^### (\w+)$", text, re.MULTILINE))
    for module in (semcast, semcast.client, semcast.pipeline):
        assert set(module.__all__) <= shown, module.__name__
    for name in ("pairs", "of", "covers", "overlaps", "matcher", "add", "remove", "publish", "subscribe", "replace"):
        assert re.search(rf"^\*\*`(async )?{name}\b", text, re.MULTILINE), name


def test_a_name_without_a_docstring_is_noticed() -> None:
    class Receipt:
        """Documented, but for its member."""

        @property
        def id(self) -> str:
            return ""

    def silent() -> None: ...

    assert undocumented({"silent": silent, "Receipt": Receipt}) == ["silent", "Receipt.id"]
