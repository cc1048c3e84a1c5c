#!/usr/bin/env bash
# Runs clang-tidy's short list over the sources, or over the files given.
# usage: scripts/tidy.sh [file ...]
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh tidy
[ -f build/clang/compile_commands.json ] || cmake --preset clang -DMOE_BUILD_TESTS=OFF >/dev/null
files=("$@")
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(git ls-files 'src/*.cpp' ':!*_test.cpp')
printf '%s\0' "${files[@]}" | xargs -0 -n 4 -P "$(nproc)" clang-tidy-19 -p build/clang --quiet
