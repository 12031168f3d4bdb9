"""Names with prefixes → names with their namespace."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from semcast.model import ProfileError
from semcast.profiles.xpath.lexer import Token, tokenize

_GIVE = (
    "give its namespace: parse(text, namespaces={{...}}), on the command line --namespace {}=..., "
    'in a profiles file "namespaces"'
)
_XML = "http://www.w3.org/XML/1998/namespace"


class Names:
    """Resolve the names of one profile by its prefix map; a name without prefix is in no namespace."""

    def __init__(self, text: str, namespaces: Mapping[str, str] | None) -> None:
        self.text = text
        self.prefixes = {"xml": _XML, **checked(namespaces)}

    def resolved(self, token: Token) -> str:
        """The name as ``local``, ``{uri}local`` or ``{uri}*``."""
        if token.value.startswith("Q{"):
            uri, _, local = token.value[2:].partition("}")
            return f"{{{uri}}}{local}" if uri else local
        prefix, colon, local = token.value.partition(":")
        if not colon:
            return token.value
        if prefix not in self.prefixes:
            close = get_close_matches(prefix, self.prefixes, n=1)
            hint = f"did you mean {close[0]!r}?" if close else _GIVE.format(prefix)
            raise ProfileError(
                f"the prefix {prefix!r} has no namespace", self.text, token.start, length=len(prefix), hint=hint
            )
        return f"{{{self.prefixes[prefix]}}}{local}"


def checked(namespaces: Mapping[str, str] | None) -> dict[str, str]:
    """A prefix map that names can be written with."""
    found: dict[str, str] = {}
    pairs: list[tuple[object, object]] = list((namespaces or {}).items())
    for prefix, uri in pairs:
        if not isinstance(prefix, str) or not isinstance(uri, str):
            raise ProfileError("a prefix map is from text to text")
        tokens = tokenize(prefix)
        if (
            len(tokens) != 2
            or tokens[0].type != "NAME"
            or not {":", "{"}.isdisjoint(prefix)
            or prefix != prefix.strip()
        ):
            hint = "XPath 1.0 has no default namespace: choose a prefix" if not prefix else None
            raise ProfileError(f"{prefix!r} cannot be a prefix", hint=hint)
        if not uri or "{" in uri or "}" in uri:
            raise ProfileError(f"{uri!r} cannot be the namespace of the prefix {prefix!r}")
        tokenize(f"'{uri.replace(chr(39), '')}'")  # refuses characters that no XML can hold
        found[prefix] = uri
    return found
