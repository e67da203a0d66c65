#!/bin/sh
# Writes the locks anew from pyproject.toml. Needs uv (pip install uv).
set -eu
cd "$(dirname "$0")/.."
lock() { uv pip compile --quiet --universal --generate-hashes --no-annotate --python-version 3.11 \
    --custom-compile-command requirements/lock.sh "$@"; }
lock pyproject.toml -o requirements/run.txt
lock pyproject.toml --group dev -o requirements/dev.txt
