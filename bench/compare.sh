#!/usr/bin/env bash
# Times quarry beside CUB's caching allocator and a best fit over std::map on simulated devices: builds bench_compare in
# the release preset if that is not up to date, runs it and prints its table.
#
# usage: compare.sh [--quick] [--json FILE] [other options of bench_compare, see --help]
#        compare.sh --build        only builds, and prints where the program is
#
# QUARRY_BENCH_COMPARE=PROGRAM takes that program and builds nothing.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
program="${QUARRY_BENCH_COMPARE:-$root/build/release/bench/bench_compare}"

if [[ -z "${QUARRY_BENCH_COMPARE:-}" ]]; then
  (
    cd "$root" || exit
    [[ -f build/release/CMakeCache.txt ]] || cmake --preset release
    cmake --build --preset release --target bench_compare
  ) >&2
fi
if [[ "${1:-}" == --build ]]; then
  echo "$program"
  exit
fi
exec "$program" "$@"
