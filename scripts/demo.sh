#!/usr/bin/env bash
# Installs what is missing, builds the program, and answers a question with the bundled model.
# usage: scripts/demo.sh ["question"]
set -euo pipefail
cd "$(dirname "$0")/.."

question=${1:-What is a lighthouse?}
scripts/setup.sh build
[ -f build/release/build.ninja ] || cmake --preset release -DMOE_BUILD_TESTS=OFF >/dev/null
# Ninja finds nothing to do on a second call.
[ -x build/release/bin/moe ] || echo "building (a few minutes, once)..." >&2
cmake --build build/release --target moe_cli >/dev/null || cmake --build build/release --target moe_cli
exec build/release/bin/moe run models/wordnet-moe -p "$question"
