"""The page: what an overlay does, for people who look at it.

A `Watcher` asks coordinator, sources and gateways over HTTP how they stand, once a second; what they said is a
`Snapshot`. *Views* turn snapshots into JSON, one for each part of the page, and `Dashboard` serves both JSON and page.
The page is plain ES modules in `static`, and shows nothing that is not in that JSON. Nothing here changes an overlay;
only who watches a profile live in the try-it box subscribes to it, as any client does. `Replay` serves the same page of
a `Recording`: a simulation's journal.
"""

from semcast.model.extras import needed

with needed("server", "the page"):
    from semcast.dashboard.recording import Recording
    from semcast.dashboard.replay import Replay
    from semcast.dashboard.server import Dashboard
    from semcast.dashboard.watching import Watcher

__all__ = ["Dashboard", "Recording", "Replay", "Watcher"]
