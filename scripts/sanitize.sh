#!/usr/bin/env bash
# Builds with a sanitizer and runs the unit and contract tests under it.
# usage: scripts/sanitize.sh asan|tsan [ctest arguments ...]
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:?usage: scripts/sanitize.sh asan|tsan}
shift
scripts/setup.sh test
scripts/build.sh "$preset"
export ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1
exec ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$(nproc)" -LE slow "$@"
