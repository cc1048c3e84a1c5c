#!/usr/bin/env bash
# Installs the Debian packages that the build and the tests need. Does nothing when they are there.
# usage: scripts/setup.sh [build|test|tidy]     (test adds GoogleTest, clang 19 with its sanitizers and
# LLVM's tools, against which the decoder is tested; tidy adds the formatter and the linter)
set -euo pipefail

packages=(g++ cmake ninja-build ccache pkg-config libfmt-dev libcli11-dev nlohmann-json3-dev libpcre2-dev libutf8proc-dev)
case "${1:-build}" in
  build) ;;
  test) packages+=(libgtest-dev libgmock-dev clang-19 lld-19 llvm-19 libclang-rt-19-dev) ;;
  tidy) packages+=(clang-19 clang-format-19 clang-tidy-19) ;;
  *) echo "setup.sh: unknown set '$1'; use build, test or tidy" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup.sh: missing packages: ${missing[*]}" >&2
  echo "fix: this is not a Debian system; install their counterparts and run the command again" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup.sh: missing packages: ${missing[*]}" >&2
    echo "fix: run as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "installing: ${missing[*]}" >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
