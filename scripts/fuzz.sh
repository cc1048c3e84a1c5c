#!/usr/bin/env bash
# Builds the fuzz targets and runs each from its corpus for a number of executions.
# usage: scripts/fuzz.sh [executions, default 100000] [target ...]
set -euo pipefail
cd "$(dirname "$0")/.."

executions=${1:-100000}
shift || true
scripts/setup.sh test
scripts/build.sh fuzz
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for binary in build/fuzz/bin/fuzz_*; do targets+=("$(basename "$binary" | sed 's/^fuzz_//')"); done
fi
for target in "${targets[@]}"; do
  scratch=$(mktemp -d)
  echo "fuzz_$target: $executions executions"
  if ! build/fuzz/bin/fuzz_"$target" -runs="$executions" -seed=1 -max_len=16384 -timeout=20 -rss_limit_mb=4096 \
      -artifact_prefix="build/fuzz/" "$scratch" "tests/fuzz/corpus/$target" >"build/fuzz/$target.log" 2>&1; then
    tail -n 60 "build/fuzz/$target.log"
    echo "fuzz_$target failed; the input is in build/fuzz/" >&2
    exit 1
  fi
  tail -n 1 "build/fuzz/$target.log"
  rm -rf "$scratch"
done
