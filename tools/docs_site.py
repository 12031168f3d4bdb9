"""Build the site of docs/ and hold it to more than its generator does: `docs_site.py [ROOT]`.

Zensical's strict build fails on links between pages that lead nowhere. It lets pass a page that the navigation forgets
or invents, a link out of docs/, a picture or stylesheet that is missing, and what would come from another host.
Here all of these fail: the site has to work off a disk.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADS = {("script", "src"), ("img", "src"), ("link", "href"), ("source", "src"), ("object", "data"), ("iframe", "src")}
_NOT_LOADED = {"canonical", "prev", "next", "alternate", "edit", "license"}
_REMOTE = re.compile(r"(https?:)?//", re.IGNORECASE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_CSS_LOAD = re.compile(r"""(?:url\(\s*|@import\s+)["']?([^"')\s;]+)""")


class Page(HTMLParser):
    """What a page of the built site offers as anchors, links to, and loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors.update(found[name] for name in ("id", "name") if found.get(name))
        relations = set(found.get("rel", "").split())
        for name, value in found.items():
            if (tag, name) in _LOADS and not relations & _NOT_LOADED:
                self.loads.append(value)
            elif name == "href" and tag != "base":
                self.links.append(value)


def nav_pages(entry: object) -> Iterator[str]:
    """The pages that a navigation names, at whatever depth."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for below in entry.values():
            yield from nav_pages(below)
    elif isinstance(entry, list):
        for below in entry:
            yield from nav_pages(below)


def nav_troubles(root: Path) -> list[str]:
    """Pages that the navigation forgets, and pages that it invents."""
    project = tomllib.loads((root / "zensical.toml").read_text())["project"]
    named = list(nav_pages(project["nav"]))
    docs = root / "docs"
    there = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    twice = {name for name in named if named.count(name) > 1}
    return [
        *(f"zensical.toml: the navigation names {name}, which is not in docs/" for name in sorted({*named} - there)),
        *(f"docs/{name}: the navigation of zensical.toml does not lead there" for name in sorted(there - {*named})),
        *(f"zensical.toml: the navigation names {name} twice" for name in sorted(twice)),
    ]


def site_troubles(site: Path) -> list[str]:
    """Links and anchors that lead nowhere, and what would be loaded from elsewhere or is missing."""
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    troubles = []
    for path, page in pages.items():
        where = path.relative_to(site)
        found = [_load_trouble(path, load, site) for load in page.loads]
        if path.name != "404.html":  # it is served for any path, and its links begin at the root
            found += [_link_trouble(path, link, pages) for link in page.links]
        troubles += [f"{where}: {trouble}" for trouble in found if trouble]
    for path in sorted(site.rglob("*.css")):
        found = [_load_trouble(path, load, site) for load in _CSS_LOAD.findall(path.read_text())]
        troubles += [f"{path.relative_to(site)}: {trouble}" for trouble in found if trouble]
    return troubles


def _load_trouble(page: Path, load: str, site: Path) -> str | None:
    if load.startswith(("data:", "#")):
        return None
    if _REMOTE.match(load):
        return f"loads {load} from another host"
    path = unquote(urlsplit(load).path)
    target = site / path.lstrip("/") if path.startswith("/") else page.parent / path
    return None if target.is_file() else f"loads {load}, which is not there"


def _link_trouble(page: Path, link: str, pages: dict[Path, Page]) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None  # another site's: whether it is there cannot be known without a network
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page.resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return f"links to {link}, which is not there"
    known = (
        {path.resolve(): found for path, found in pages.items()} if target != page.resolve() else {target: pages[page]}
    )
    anchor = unquote(parts.fragment)
    if anchor and target in known and anchor not in known[target].anchors:
        return f"links to {link}, and there is no such anchor"
    return None


def build(root: Path) -> list[str]:
    """Build ``root``/build/site; what is wrong with it, a line each."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        said = _COLOUR.sub("", done.stdout + done.stderr).partition("Traceback")[0]
        return [f"zensical build --strict failed:\n{said}"]
    return nav_troubles(root) + site_troubles(root / "build" / "site")


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    troubles = build(root)
    for trouble in troubles:
        print(f"error: {trouble}", file=sys.stderr)
    if troubles:
        sys.exit(1)
    pages = sum(1 for _ in (root / "build" / "site").rglob("*.html"))
    print(f"build/site: {pages} pages; open build/site/index.html", file=sys.stderr)
    print("its search needs a server: python3 -m http.server -d build/site", file=sys.stderr)


if __name__ == "__main__":
    main()
