"""Which files a path stands for, and what is in them."""

from __future__ import annotations

from pathlib import Path

from semcast.model import SemcastError

_FORMATS = {".parquet": "parquet", ".csv": "csv", ".xml": "xml"}
_COMPRESSED = (".gz", ".bz2", ".zst", ".zstd")


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
    return files, formats.pop()


def _is_data(file: Path, root: Path) -> bool:
    return file.is_file() and not any(part[0] in "._" for part in file.relative_to(root).parts)


def _format(file: Path) -> str:
    suffixes = [suffix for suffix in file.suffixes if suffix not in _COMPRESSED]
    return _FORMATS.get(suffixes[-1] if suffixes else "", "json")
