"""What a broker's metrics page says."""

from __future__ import annotations

import re

from tests.live.http.running import ask

_SAMPLE = re.compile(r'^([a-z_:]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\})? (-?[0-9.e+-]+)$')


def metrics(address: str) -> dict[str, float]:
    """All samples; every line has to be one, or a comment on a family that has some."""
    text = ask(address, "/metrics").body.decode()
    found: dict[str, float] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            matched = _SAMPLE.match(line)
            assert matched, line
            name = f"{matched[1]}{{{matched[2]}}}" if matched[2] else matched[1]
            assert name not in found
            found[name] = float(matched[3])
    for family, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE):
        suffix = "_bucket{" if kind == "histogram" else ""
        assert any(name.startswith(family + suffix) for name in found)
        assert kind != "counter" or family.endswith("_total")
    return found
