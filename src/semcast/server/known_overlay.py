"""The overlay as a broker last knew it: so that it can start while no coordinator is there."""

from __future__ import annotations

from pathlib import Path

import msgspec

from semcast.model import SemcastError
from semcast.net.host import log
from semcast.net.view import OverlayView
from semcast.server.embedded import ask_overlay
from semcast.storage.disk import Troubled, put_file, when_writable

_FILE = "overlay.json"
_PATIENCE_S, _SHORT_S = 60.0, 3.0


async def overlay_of(coordinators: list[str], folder: Path, troubled: Troubled | None = None) -> OverlayView:
    """What coordinators say of the overlay, or, when none answers for a while, what they said last time."""
    kept = folder / _FILE
    known = kept.exists()
    try:
        view = await ask_overlay(coordinators, patience_s=_SHORT_S if known else _PATIENCE_S)
    except SemcastError as error:
        if not known:
            raise
        log.warning("%s; starting with what was known last time", error)
        return OverlayView.decoded(kept.read_bytes())
    text = msgspec.json.format(view.encoded())
    if not known or kept.read_bytes() != text:
        await when_writable(folder.name, lambda: put_file(kept, text), troubled)
    return view
