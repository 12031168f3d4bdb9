"""The site of docs/ is built as ``make docs`` builds it: its links, anchors, navigation and pictures hold."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT
from tools.docs_site import build
from tools.pictures import PICTURES


def project(folder: Path, pages: dict[str, str], nav: list[str]) -> Path:
    """A small site of its own."""
    (folder / "docs").mkdir()
    for name, text in pages.items():
        (folder / "docs" / name).write_text(text)
    named = ", ".join(f'"{name}"' for name in nav)
    (folder / "zensical.toml").write_text(
        f'[project]\nsite_name = "t"\nsite_dir = "build/site"\nuse_directory_urls = false\nnav = [{named}]\n'
        "[project.theme]\nfont = false\n"
    )
    return folder


def test_the_site_builds_and_every_link_and_anchor_leads_somewhere(tmp_path: Path) -> None:
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=shutil.ignore_patterns(".cache"))
    assert build(tmp_path) == []
    site = tmp_path / "build" / "site"
    built = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert {"index.html", "quickstart.html", "papers.html", "api.html", "decisions/index.html"} <= built


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("[gone](gone.md)", "page does not exist"),
        ("[no such anchor](index.md#gone)", "anchor does not exist"),
        ("[out of docs](../README.md)", "page does not exist"),
        ("[no page, and out of docs](../examples/up.toml)", "../examples/up.toml, which is not there"),
        ("![no picture](gone.svg)", "gone.svg"),
        ('<script src="https://cdn.example/x.js"></script>', "from another host"),
    ],
)
def test_what_leads_nowhere_or_comes_from_elsewhere_fails_the_build(tmp_path: Path, page: str, said: str) -> None:
    found = build(project(tmp_path, {"index.md": f"# Start\n\n{page}\n"}, ["index.md"]))
    assert found
    assert said in "\n".join(found)


def test_pages_that_the_navigation_forgets_or_invents_fail_the_build(tmp_path: Path) -> None:
    found = build(project(tmp_path, {"index.md": "# Start\n", "lost.md": "# Lost\n"}, ["index.md", "gone.md"]))
    assert "zensical.toml: the navigation names gone.md, which is not in docs/" in found
    assert "docs/lost.md: the navigation of zensical.toml does not lead there" in found


def test_pictures_are_what_the_tool_draws() -> None:
    folder = ROOT / "docs" / "pictures"
    assert {path.stem for path in folder.iterdir()} == set(PICTURES)
    for name, draw in PICTURES.items():
        assert (folder / f"{name}.svg").read_text() == draw(), f"python tools/pictures.py docs/pictures; {name}"
