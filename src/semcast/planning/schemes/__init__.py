"""The schemes: one object each, with what it plans, installs, forwards and counts.

``masked`` is ours and the default; ``semcast`` and its variants are the papers'; ``unicast``, ``spt`` and ``semnet``
are what these are compared with, and run live as well.
"""

from semcast.model import SemcastError
from semcast.planning.schemes.masked import Masked
from semcast.planning.schemes.papers import PAPERS, SemCast
from semcast.planning.schemes.per_hop import SemanticNetwork, ShortestPaths
from semcast.planning.schemes.scheme import Scheme
from semcast.planning.schemes.unicast import Unicast

__all__ = ["SCHEMES", "Scheme", "scheme_of"]

SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        Masked("masked"),
        *map(SemCast, PAPERS),
        Unicast("unicast"),
        ShortestPaths("spt"),
        SemanticNetwork("semnet"),
    )
}


def scheme_of(name: str) -> Scheme:
    """The scheme of this name; SemcastError where there is none."""
    try:
        return SCHEMES[name]
    except KeyError:
        raise SemcastError(f"there is no scheme {name!r}; there are {', '.join(SCHEMES)}") from None
