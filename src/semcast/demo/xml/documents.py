"""Documents drawn from a schema."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

import numpy as np
import pyarrow as pa

from semcast.demo.xml.schema import Child, Schema

MAX_DEPTH = 12


class DocumentGenerator:
    """Documents of one schema with about ``elements`` elements on average.

    Their number spreads as the schema makes it. What may be left out is left out from ``max_depth`` on, so
    recursive elements end.
    """

    def __init__(self, schema: Schema, elements: int = 100, max_depth: int = MAX_DEPTH) -> None:
        self.schema = schema
        self.max_depth = max_depth
        self._scale = schema.scale_for(elements, max_depth)

    def document(self, random: np.random.Generator) -> str:
        parts: list[str] = []
        self._write(self.schema.root, 1, random, parts)
        return "".join(parts)

    def batch(self, count: int, random: np.random.Generator) -> pa.RecordBatch:
        """``count`` documents as a batch's ``payload``."""
        return pa.RecordBatch.from_pydict({"payload": pa.array([self.document(random) for _ in range(count)])})

    def _write(self, name: str, depth: int, random: np.random.Generator, parts: list[str]) -> None:
        element = self.schema.elements[name]
        parts.append(f"<{name}")
        parts += [
            f" {attribute.name}={quoteattr(attribute.kind.text(random))}"
            for attribute in element.attributes
            if attribute.chance >= 1 or random.random() < attribute.chance
        ]
        below = [child.name for child in element.children for _ in range(self._times(child, depth, random))]
        if not below and element.text is None:
            parts.append("/>")
            return
        parts.append(">")
        if element.text is not None:
            parts.append(escape(element.text.text(random)))
        for child_name in below:
            self._write(child_name, depth + 1, random, parts)
            if element.text is not None and random.random() < 0.5:
                parts.append(" " + escape(element.text.text(random)))
        parts.append(f"</{name}>")

    def _times(self, child: Child, depth: int, random: np.random.Generator) -> int:
        if depth >= self.max_depth or not child.more:
            return child.least
        if child.once:
            return child.least + int(random.random() < child.more)
        return child.least + int(random.poisson(child.more * self._scale))
