#!/usr/bin/env bash
# Installs what is missing, builds everything in Release, and runs every test.
# usage: scripts/test.sh [ctest arguments ...]      for example: scripts/test.sh -L unit
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh test
cmake --preset release -DMOE_BUILD_TESTS=ON >/dev/null
scripts/build.sh release
exec ctest --test-dir build/release --output-on-failure --no-tests=error -j "$(nproc)" "$@"
