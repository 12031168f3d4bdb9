"""A file of messages as one Arrow batch, for looks at a sample without a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from semcast.matching import Language
from semcast.model import Schema, SemcastError
from semcast.pipeline.decode import Decoder, wanted_of


def read_sample(path: Path, chosen: Language[Any], profiles: Sequence[Any], schema: Schema | None) -> tuple[pa.Table, int]:
    """The messages of a file, decoded for ``profiles``, and how many lines could not be read."""
    if not path.is_file():
        raise SemcastError(f"{path}: no such file")
    decoder = Decoder(wanted_of(chosen, profiles, schema))
    try:
        if path.suffix == ".parquet":
            return pyarrow.parquet.read_table(path), 0
        if path.suffix == ".csv":
            names = pyarrow.csv.open_csv(path).schema.names
            options = pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True
            )
            texts = pyarrow.csv.read_csv(path, convert_options=options)
            return pa.Table.from_batches([decoder.text_columns(batch) for batch in texts.to_batches()]), 0
        lines: list[bytes | None] = list(path.read_bytes().split(b"\n"))
    except (OSError, pa.ArrowException) as error:
        raise SemcastError(f"{path}: cannot be read ({str(error).splitlines()[0]})") from error
    if lines and not lines[-1]:
        lines.pop()
    batch, bad = decoder.json_lines(lines)
    good = sorted(set(range(batch.num_rows)) - set(bad))
    return pa.Table.from_batches([batch.take(pa.array(good, pa.int64()))]), len(bad)
