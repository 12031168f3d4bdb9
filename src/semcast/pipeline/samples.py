"""Some messages of a file or folder as an Arrow table, for looks at a stream without a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from semcast.matching import Language
from semcast.matching.decode import Decoder, wanted_of
from semcast.model import Schema, SemcastError
from semcast.pipeline.documents import documents
from semcast.pipeline.files import data_files

MAX_MESSAGES = 1_000_000


def read_sample(
    path: Path, chosen: Language[Any], profiles: Sequence[Any], schema: Schema | None
) -> tuple[pa.Table, int]:
    """The first messages, at most MAX_MESSAGES, decoded for ``profiles``, and how many lines were unreadable."""
    files, format_ = data_files(path)
    decoder = Decoder(wanted_of(chosen, profiles, schema))
    left, bad, tables = MAX_MESSAGES, 0, []
    for file in files:
        try:
            table, unreadable = _read(file, format_, decoder, left)
        except (OSError, EOFError, pa.ArrowException) as error:
            raise SemcastError(
                f"{file}: cannot be read ({(str(error).splitlines() or [type(error).__name__])[0]})"
            ) from error
        tables.append(table)
        bad += unreadable
        left -= table.num_rows
        if left <= 0:
            break
    return pa.concat_tables(tables, promote_options="permissive"), bad


def _read(file: Path, format_: str, decoder: Decoder, rows: int) -> tuple[pa.Table, int]:
    match format_:
        case "xml":
            ((batch, bad),) = documents([str(file)], [0])
            return pa.Table.from_batches([batch]), len(bad)
        case "parquet":
            return pyarrow.parquet.read_table(file).slice(0, rows), 0
        case "csv":
            names = pyarrow.csv.open_csv(file).schema.names
            options = pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True
            )
            table = pyarrow.csv.read_csv(file, convert_options=options).slice(0, rows)
            return pa.Table.from_batches([decoder.text_columns(batch) for batch in table.to_batches()]), 0
    with pa.input_stream(file, compression="detect") as stream:
        batch, bad = decoder.json_lines(list(islice(BufferedReader(stream), rows)))
    good = sorted(set(range(batch.num_rows)) - set(bad))
    return pa.Table.from_batches([batch.take(pa.array(good, pa.int64()))]), len(bad)
