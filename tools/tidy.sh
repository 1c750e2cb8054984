#!/usr/bin/env bash
# Runs clang-tidy over the product code, or over the files named. Needs clang-tidy; not part of the tests: it takes
# minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! command -v clang-tidy >/dev/null; then
  echo "tidy.sh: clang-tidy is not installed (Debian package clang-tidy)" >&2
  exit 2
fi
[ -f build/dev/compile_commands.json ] || cmake --preset dev >/dev/null
if [ "$#" -eq 0 ]; then
  mapfile -t files < <(find allocator stats tensor tools bench -name '*.cpp' 2>/dev/null | sort)
  set -- "${files[@]}"
fi
printf '%s\0' "$@" | xargs -0 -n 1 -P 2 clang-tidy -p build/dev --quiet
