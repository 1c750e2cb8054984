#!/usr/bin/env bash
# Checks and times quarry on this machine's GPU: the driver contract, a stress with content checks on several streams, the
# tensor's kernels against the host's results, the cost of virtual memory calls by handle size, and allocate/free pairs beside CUB, cudaMallocAsync and cudaMalloc.
# A table goes to standard output, everything as JSON to a file. Without a GPU it says so and exits 0.
#
# usage: gpu_check.sh [PROGRAMS [JSON_FILE]]
#        gpu_check.sh --build        only builds the programs, into build/gpu/bin
#
# PROGRAMS is a folder with the programs; where it is not given, build/gpu/bin, built first unless its build folder is not
# there (as on a machine that got only the programs). The programs need nothing but a driver. JSON_FILE defaults to
# gpu_check.json in $OUT, or else in the folder above PROGRAMS.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
build="$root/build/gpu"

build_programs() {
  cmake -S "$root" -B "$build/tree" -G Ninja -DCMAKE_BUILD_TYPE=Release -DQUARRY_CUDA=ON -DQUARRY_BUILD_BENCH=OFF >&2
  cmake --build "$build/tree" --target gpu_programs --parallel 2 >&2
  mkdir -p "$build/bin"
  local program
  for program in "$build"/tree/tests/gpu/bin/gpu_*; do
    strip -o "$build/bin/$(basename "$program")" "$program"
  done
}

if [[ "${1:-}" == --build ]]; then
  build_programs
  exit
fi
if [[ -n "${1:-}" ]]; then
  programs="$1"
else
  programs="$build/bin"
  if [[ -d "$build/tree" || ! -x "$programs/gpu_probe" ]]; then build_programs; fi
fi
json="${2:-${OUT:-$programs/..}/gpu_check.json}"

# The probe's exit code 77: no GPU answers.
status=0
gpu="$("$programs/gpu_probe" 2>&1)" || status=$?
if ((status == 77)); then
  echo "gpu_check: no GPU here, nothing was run ($gpu)"
  exit 0
elif ((status != 0)); then
  echo "gpu_check: the GPU does not answer: $gpu" >&2
  exit 1
fi
echo "gpu_check: GPU $gpu"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
failed=()

# step NAME PROGRAM ARGUMENT... : runs it; the others run all the same when it fails.
step() {
  local name="$1"
  shift
  echo "--- $name"
  local begin=$SECONDS
  if timeout 240 "$@"; then
    echo "ok, $((SECONDS - begin)) s"
  else
    echo "FAILED with exit code $?, $((SECONDS - begin)) s"
    failed+=("$name")
  fi
}

step contract "$programs/gpu_contract" --gtest_brief=1 --gtest_output="json:$work/contract.json"
for seed in 1 2 3; do
  step "stress $seed" "$programs/gpu_stress" 5000 4 64 "$seed"
done
step tensor "$programs/gpu_tensor" --gtest_brief=1 --gtest_output="json:$work/tensor.json"
step mapping "$programs/gpu_mapping_cost" "$work/mapping.json"
step peers "$programs/gpu_peers" "$work/peers.json"

object() { if [[ -s "$1" ]]; then cat "$1"; else echo null; fi; }
list() { local separator='' item; for item; do printf '%s"%s"' "$separator" "$item"; separator=', '; done; }
{
  printf '{"schema": 1, "gpu": "%s", "failed": [%s],\n' "$gpu" "$(list ${failed[@]+"${failed[@]}"})"
  printf '"contract": %s,\n' "$(object "$work/contract.json")"
  printf '"tensor": %s,\n' "$(object "$work/tensor.json")"
  printf '"mapping": %s,\n' "$(object "$work/mapping.json")"
  printf '"peers": %s}\n' "$(object "$work/peers.json")"
} >"$json"
echo "--- JSON: $json"
if ((${#failed[@]} > 0)); then
  echo "gpu_check: failed: $(list "${failed[@]}")"
  exit 1
fi
echo "gpu_check: all passed"
