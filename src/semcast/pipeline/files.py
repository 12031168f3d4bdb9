"""Which files a path stands for, and what is in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from semcast.model import SemcastError

_FORMATS = {".parquet": "parquet", ".csv": "csv", ".xml": "xml"}
COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zstd": "zstd"}
"""What Arrow unpacks, by the ending."""
_COMPRESSED = (*COMPRESSIONS, ".deflate")


def data_files(path: Path) -> tuple[list[Path], str]:
    """The files of a file, a folder or a pattern (``news/*.xml``), in order of their names, and their one format.

    Names that begin with a dot or an underscore are no data, as in Spark. Without a known ending it is
    JSON Lines.
    """
    if path.exists():
        files = sorted(file for file in path.rglob("*") if _is_data(file, path)) if path.is_dir() else [path]
    elif set(str(path)) & set("*?["):
        root = Path(path.anchor)
        files = sorted(
            file for file in root.glob(str(path.relative_to(root))) if file.is_file() and file.name[0] not in "._"
        )
    else:
        raise SemcastError(f"{path}: no such file or folder")
    if not files:
        raise SemcastError(f"{path}: holds no files")
    formats = {_format(file) for file in files}
    if len(formats) > 1:
        raise SemcastError(f"{path}: holds files of several formats ({', '.join(sorted(formats))})")
    (format_,) = formats
    if format_ in ("json", "xml") and any(file.suffix == ".deflate" for file in files):
        raise SemcastError(f"{path}: .deflate is not read here; pack it as .gz, .bz2 or .zst")
    return files, format_


def opened(path: str) -> Any:
    """A file as a stream of bytes, unpacked if its name says that it is packed."""
    return pa.input_stream(path, compression=COMPRESSIONS.get(Path(path).suffix))


def _is_data(file: Path, root: Path) -> bool:
    return file.is_file() and not any(part[0] in "._" for part in file.relative_to(root).parts)


def _format(file: Path) -> str:
    suffixes = [suffix for suffix in file.suffixes if suffix not in _COMPRESSED]
    return _FORMATS.get(suffixes[-1] if suffixes else "", "json")
