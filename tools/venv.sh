#!/bin/sh
# Make or update .venv so that it holds exactly this checkout and the versions of requirements.lock.
#   venv.sh [PYTHON]          PYTHON: the interpreter to make it from; else the newest suitable one is searched
#   venv.sh --bare [PYTHON]   only the environment, nothing installed
set -eu
cd "$(dirname "$0")/.."

bare=
if test "${1-}" = --bare; then
    bare=yes
    shift
fi
wanted=${1-}

fail() {
    printf 'error: %s\n' "$1" >&2
    exit 1
}

new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

find_python() {
    if test -n "$wanted"; then
        new_enough "$wanted" || fail "PYTHON=$wanted is not a Python 3.11 or newer"
        printf '%s\n' "$wanted"
        return
    fi
    # Some of these may be stubs that only print how to install a Python: each is tried, not just looked up.
    for name in python3.13 python3.12 python3.11 python3 python; do
        if new_enough "$name"; then
            printf '%s\n' "$name"
            return
        fi
    done
    fail "no Python 3.11 or newer found
  install one (for example: apt-get install python3 python3-venv)
  or say where it is: make PYTHON=/path/to/python3.12"
}

# An environment that was moved or copied has programs that call the Python of its old place: it is made anew,
# as is one whose Python is gone.
usable() {
    test -x .venv/bin/python && new_enough .venv/bin/python &&
        sed 3q .venv/bin/pip 2>/dev/null | grep -qF -e "$(pwd)/.venv/bin/" -e "$(pwd -P)/.venv/bin/"
}

if ! usable; then
    python=$(find_python)
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "$python has no venv module (or no ensurepip); on Debian and Ubuntu: apt-get install python3-venv"
    echo "Making .venv with $("$python" --version)" >&2
    "$python" -m venv --clear .venv
fi
test -z "$bare" || exit 0

echo "Installing into .venv (the first time this downloads about 1 GB and takes minutes)" >&2
pip() {
    .venv/bin/python -m pip --disable-pip-version-check --quiet "$@" </dev/null
}
pip install --require-hashes -r requirements.lock
pip install --no-deps --no-build-isolation -e . -e ./experiments
touch .venv/.ready
