#!/bin/sh
# Resolve requirements.lock from pyproject.toml: for every Python and platform that it names, names, versions and
# hashes only. One version of a package serves all of them where it can, so that what holds on one Python holds on
# the next. Versions stay as they are where they can; --upgrade moves them to the newest.
#   lock.sh [PYTHON] [--upgrade]
set -eu
cd "$(dirname "$0")/.."
sh tools/venv.sh --bare "${1-}"
test $# -eq 0 || shift
.venv/bin/python -m uv --version >/dev/null 2>&1 ||
    .venv/bin/python -m pip --disable-pip-version-check --quiet install uv
.venv/bin/python -m uv pip compile --quiet --universal --fork-strategy fewest --python-version 3.11 \
    --all-extras --group dev --generate-hashes --no-annotate --no-header --no-emit-index-url \
    --output-file requirements.lock "$@" pyproject.toml
echo "requirements.lock: $(grep -c '==' requirements.lock) packages" >&2
