"""HTTP at the port that a broker or coordinator has anyway: publishing, server-sent events, WebSocket, status.

`HttpFront` recognises requests and gives them to uvicorn's protocol and a Starlette application. A `Feed` is a
subscription on its way to somebody who may be slow or gone. A *cursor* says in one line what a client has, so that it
can go on at any gateway. Nothing here knows of trees or channels but to show them.
"""

from semcast.model.extras import needed

with needed("server", "HTTP at a broker's port"):
    from semcast.server.http.front import HttpFront

__all__ = ["HttpFront"]
