#!/usr/bin/env bash
# Configures (once) and builds one preset. Quiet unless something fails.
# usage: scripts/build.sh PRESET [cmake --build arguments ...]
set -euo pipefail
cd "$(dirname "$0")/.."

preset=$1
shift
log=build/$preset/build.log
mkdir -p "build/$preset"
if [ ! -f "build/$preset/build.ninja" ]; then
  configure=(-DMOE_BUILD_TESTS="${MOE_BUILD_TESTS:-ON}")
  [ "$preset" = fuzz ] && configure=()
  if ! cmake --preset "$preset" "${configure[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
  fi
fi
if [ "${MOE_VERBOSE:-0}" = 1 ] || [ -t 2 ]; then
  cmake --build "build/$preset" "$@" >&2
elif ! cmake --build "build/$preset" "$@" >"$log" 2>&1; then
  grep -E -A12 'error|FAILED|undefined' "$log" >&2 || tail -n 60 "$log" >&2
  exit 1
fi
