#!/usr/bin/env bash
# Counts quarry's instructions per operation in RMM's random workload at N = 1,000 and N = 100,000, by callgrind inside of
# the measured loop, after one uncounted run of the list. The counts repeat exactly; the last column is their ratio.
#
# usage: instructions.sh [SUBJECT...]      default: fast tight; pytorch and the peers are known too
#
# QUARRY_BENCH_COMPARE=PROGRAM counts that program and builds nothing.
set -euo pipefail

die() {
  echo "instructions.sh: $*" >&2
  exit 2
}

if [[ "${1:-}" == -* ]]; then
  sed -n '2,/^set/s/^#$\|^# //p' "${BASH_SOURCE[0]}"
  [[ "$1" == -h || "$1" == --help ]] && exit
  die "$1: no such option"
fi
command -v valgrind >/dev/null || die "valgrind is not installed"
program="$("$(dirname "${BASH_SOURCE[0]}")/compare.sh" --build)"
[[ -x "$program" ]] || die "$program: no such program"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# count SUBJECT CASE: instructions per operation.
count() {
  local operations collected
  operations="$(valgrind --tool=callgrind --toggle-collect='*measured_loop*' --callgrind-out-file="$scratch/out" \
    "$program" --count "$2" --subject "$1" 2>"$scratch/log" | sed -n 's/^operations //p')" || true
  collected="$(sed -n 's/.*Collected : *\([0-9]*\).*/\1/p' "$scratch/log")"
  [[ -n "$operations" && "${collected:-0}" -gt 0 ]] || die "nothing was counted: $(grep -v "^==" "$scratch/log" | tail -n 1)"
  awk -v n="$collected" -v by="$operations" 'BEGIN { printf "%.1f", n / by }'
}

[[ $# -gt 0 ]] || set -- fast tight
printf '%-20s %-10s %10s %10s %8s\n' subject 'max size' 'N=1000' 'N=100000' ratio
for subject in "$@"; do
  for mib in 1 4; do
    few="$(count "$subject" "random 1000 x $mib MiB")"
    many="$(count "$subject" "random 100000 x $mib MiB")"
    ratio="$(awk -v few="$few" -v many="$many" 'BEGIN { printf "%.2f", many / few }')"
    printf '%-20s %-10s %10s %10s %8s\n' "$subject" "$mib MiB" "$few" "$many" "$ratio"
  done
done
