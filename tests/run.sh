#!/bin/sh
# Builds everything and runs all tests, from wherever it is called. Arguments go to ctest.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"

sh cmake/install_packages.sh
[ -f build/release/build.ninja ] || cmake --preset release
cmake --build --preset release --parallel "$(nproc)"
exec ctest --preset release --parallel "$(nproc)" "$@"
